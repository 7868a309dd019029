// The trellis as a picture: a row for each state, a column for each token. Only the columns in sight are drawn, and of
// the transitions those that matter: the best way into each state, and on request all ways into one.

import { s, h, replace, textWidth } from "./dom.js";
import { fixed, signed } from "./format.js";

const TOP = 58;

export class Trellis {
  constructor(lattice, rows, options) {
    this.lattice = lattice;
    this.record = lattice.record;
    this.rows = rows;
    this.options = options; // { fix(i, label), detail(node or null), path }
    this.row = new Map(rows.map((state, k) => [state, k]));
    this.dense = rows.length > 16;
    this.step = this.dense ? 26 : 46;
    this.radius = this.dense ? 7 : 10;
    this.active = [0, rows[Math.max(0, this.row.get(lattice.best[0]) ?? 0)]];
    this.layout();
    this.node = this.build();
  }

  layout() {
    const { tokens, rows } = this.record;
    this.left = Math.min(150, Math.max(...this.rows.map((state) => textWidth(this.record.states[state], 13)))) + 26;
    let x = 0;
    this.x = tokens.map((token, i) => {
      const width = Math.max(68, ...[token, ...(rows?.[i] ?? []).slice(1)].map((text) => Math.min(170, textWidth(text, 14, 600)) + 26));
      x += width;
      return x - width / 2;
    });
    const wanted = (this.options.width ?? 0) - this.left - 12;
    if (x < wanted) { // few tokens take the room that there is
      const stretch = Math.min(1.75, wanted / x);
      this.x = this.x.map((at) => at * stretch);
      x *= stretch;
    }
    this.width = x + 12;
    this.height = TOP + this.step * this.rows.length + 14;
    const far = this.lattice.behind.flat().filter((value) => Number.isFinite(value) && value > 0);
    this.scale = far.length ? 0.4 * (far.reduce((a, b) => a + b, 0) / far.length) : 1;
  }

  y(state) {
    return TOP + this.step * (this.row.get(state) + 0.5);
  }

  build() {
    this.names = s("svg", { class: "names", width: this.left, height: this.height, "aria-hidden": "true" });
    this.svg = s("svg", {
      class: "trellis", width: this.width, height: this.height, role: "grid",
      "aria-label": "The trellis: a column for each token, a row for each label. Arrow keys move, Enter fixes a label.",
      "aria-rowcount": this.rows.length, "aria-colcount": this.x.length,
      on: {
        pointerover: (event) => this.look(cellOf(event.target)),
        pointerleave: () => this.look(null),
        focusin: (event) => this.look(cellOf(event.target)),
        focusout: () => this.look(null),
        click: (event) => this.choose(cellOf(event.target)),
        keydown: (event) => this.key(event),
      },
    });
    this.bands = s("g", {});
    this.edges = s("g", {});
    this.lines = s("g", {});
    this.cells = s("g", { role: "row" });
    this.over = s("g", { class: "over" });
    this.svg.append(this.bands, this.edges, this.lines, this.over, this.cells);
    this.scroll = h("div", { class: "across", on: { scroll: () => this.window() } }, this.svg);
    new ResizeObserver(() => this.window(true)).observe(this.scroll);
    this.drawNames();
    this.drawPaths();
    return h("div", { class: "trellis-frame" }, this.names, this.scroll);
  }

  drawNames() {
    const { record } = this;
    const latent = record.states.length > record.labels.length;
    const groups = [];
    this.rows.forEach((state, k) => {
      const last = groups.at(-1);
      if (last && record.label_of[last.states[0]] === record.label_of[state]) last.states.push(state);
      else groups.push({ first: k, states: [state] });
    });
    for (const [k, group] of groups.entries()) {
      if (latent && k % 2 === 0) {
        const size = { y: TOP + this.step * group.first, height: this.step * group.states.length, x: 0, class: "band" };
        this.names.append(s("rect", { ...size, width: this.left }));
        this.bands.append(s("rect", { ...size, width: this.width }));
      }
      for (const state of group.states) {
        this.names.append(s("text", { class: "state", x: this.left - 14, y: this.y(state) + 4.5, text: record.states[state] }));
      }
    }
  }

  points(path) {
    return path.map((state, i) => (this.row.has(state) ? `${this.x[i].toFixed(1)},${this.y(state).toFixed(1)}` : null)).filter(Boolean).join(" ");
  }

  // Where a path leaves the best one: the stretches that differ, with their ends.
  apart(path, kind) {
    const { best } = this.lattice, found = [];
    let stretch = [];
    const end = () => {
      if (stretch.length) found.push(s("polyline", { class: kind, points: stretch.map((i) => (this.row.has(path[i]) ? `${this.x[i].toFixed(1)},${this.y(path[i]).toFixed(1)}` : "")).join(" ") }));
      stretch = [];
    };
    for (let i = 0; i < path.length; i += 1) {
      const differs = (k) => k >= 0 && k < path.length && path[k] !== best[k];
      if (differs(i) || differs(i - 1) || differs(i + 1)) {
        stretch.push(i);
        if (!differs(i) && !differs(i + 1)) end();
      }
    }
    end();
    return found;
  }

  drawPaths() {
    const found = [];
    const shown = this.options.path;
    if (shown) found.push(...this.apart(shown, "runner-up"));
    found.push(s("polyline", { class: "best", points: this.points(this.lattice.best), "data-path": this.lattice.best.map((state) => this.lattice.label(state)).join(" ") }));
    replace(this.lines, found);
  }

  // Draw the columns that can be seen and some beside them, anew when others come into sight.
  window(always = false) {
    const from = this.scroll.scrollLeft, to = from + this.scroll.clientWidth;
    const [low, high] = this.drawn ?? [1, 0];
    if (!always && low <= Math.max(0, from) && high >= Math.min(this.width, to)) return;
    this.drawn = [Math.max(0, from - 450), Math.min(this.width, to + 450)];
    let first = this.x.findIndex((x) => x >= from - 500), last = this.x.findLastIndex((x) => x <= to + 500);
    if (first < 0) first = 0;
    if (last < 0) last = this.x.length - 1;
    const focused = this.svg.contains(document.activeElement);
    const cells = [], edges = [];
    for (let i = first; i <= last; i += 1) {
      cells.push(this.token(i));
      for (const state of this.rows) {
        cells.push(this.cell(i, state));
        const before = i > 0 ? this.lattice.before(i, state) : -1;
        if (before >= 0 && this.row.has(before)) edges.push(this.line("way", i, before, state));
      }
    }
    replace(this.cells, cells);
    replace(this.edges, edges);
    if (focused) this.focus(...this.active, false);
  }

  line(kind, i, before, state) {
    return s("line", { class: kind, x1: this.x[i - 1], y1: this.y(before), x2: this.x[i], y2: this.y(state) });
  }

  token(i) {
    const more = (this.record.rows?.[i] ?? []).slice(1).join("  ");
    const beam = this.record.beam;
    const lost = beam && !beam.has_best[i] && (i === 0 || beam.has_best[i - 1]);
    return s("g", { class: "token", "aria-hidden": "true" },
      s("text", { class: "word", x: this.x[i], y: 20 }, short(this.record.tokens[i]), s("title", { text: this.record.tokens[i] })),
      more ? s("text", { class: "column", x: this.x[i], y: 37, text: more }) : null,
      lost ? s("text", { class: "lost", x: this.x[i], y: 52, text: "best path lost" }) : null);
  }

  cell(i, state) {
    const { lattice, record } = this, behind = lattice.behind[i][state];
    const x = this.x[i], y = this.y(state), r = this.radius;
    const label = lattice.label(state), onBest = lattice.best[i] === state;
    const isFixed = lattice.allowed[i] !== undefined && lattice.allows(i, state);
    const kept = record.beam ? record.beam.kept[i].indexOf(state) : -1;
    const never = !Number.isFinite(behind);
    const told = [`${record.tokens[i]}, ${record.states[state]}:`];
    if (onBest) told.push("on the best path");
    else told.push(never ? "forbidden" : `${fixed(behind, 1)} behind`);
    if (isFixed) told.push("fixed");
    if (record.beam && !never) told.push(kept < 0 ? "not in the beam" : `in the beam, place ${kept + 1}`);
    const group = s("g", {
      class: `cell${onBest ? " on-best" : ""}${never ? " never" : ""}${isFixed ? " fixed" : ""}`, role: "gridcell",
      "data-token": i, "data-state": state, "aria-label": told.join(" "), "aria-selected": onBest ? "true" : "false",
      tabindex: this.active[0] === i && this.active[1] === state ? 0 : -1,
    }, s("rect", { class: "hit", x: x - 30, y: y - this.step / 2, width: 60, height: this.step }));
    if (never) group.append(s("circle", { class: "forbidden", cx: x, cy: y, r: r - 5 }));
    else {
      group.append(
        s("circle", { class: "paper", cx: x, cy: y, r }),
        s("circle", { class: "node", cx: x, cy: y, r, "fill-opacity": Math.max(0.04, Math.exp(-Math.max(0, behind) / this.scale)).toFixed(3) }));
      if (record.beam && kept < 0) group.append(s("path", { class: "cross", d: `M${x - r * 0.6} ${y - r * 0.6}l${r * 1.2} ${r * 1.2}m0 ${-r * 1.2}l${-r * 1.2} ${r * 1.2}` }));
      if (kept >= 0 && !this.dense) group.append(s("text", { class: `rank${onBest || behind < 0.5 * this.scale ? " light" : ""}`, x, y: y + 3.5, text: kept + 1 }));
      if (!this.dense && (isFixed || !onBest)) group.append(s("text", { class: "behind", x, y: y + r + 11, text: isFixed ? "fixed" : fixed(behind, 1) }));
    }
    if (isFixed) group.append(s("rect", { class: "lock", x: x - r - 3, y: y - r - 3, width: 2 * r + 6, height: 2 * r + 6, rx: 4, title: label }));
    return group;
  }

  // The best path through one state, all ways into it, and what is forbidden there.
  look(place) {
    if (place && this.seen && place[0] === this.seen[0] && place[1] === this.seen[1]) return;
    this.seen = place;
    if (!place) {
      replace(this.over);
      this.options.detail(null);
      return;
    }
    const [i, state] = place, { lattice } = this;
    const ways = lattice.ways(i, state), top = ways[0]?.score ?? 0;
    const drawn = [];
    for (const way of ways) {
      if (!this.row.has(way.from)) continue;
      const possible = Number.isFinite(way.score);
      const line = this.line(possible ? "into" : "closed", i, way.from, state);
      if (possible) line.setAttribute("stroke-opacity", Math.max(0.12, Math.exp(-(top - way.score) / this.scale)).toFixed(2));
      drawn.push(line);
    }
    const path = lattice.through(i, state);
    if (path.length) drawn.push(...this.apart(path, "through"));
    replace(this.over, drawn);
    this.options.detail({ i, state, ways, path });
  }

  choose(place) {
    if (!place || !Number.isFinite(this.record.own[place[0]][place[1]] ?? Infinity)) return;
    this.active = place;
    this.options.fix(place[0], this.lattice.label(place[1]), place);
  }

  key(event) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-1e6, 0], End: [1e6, 0] }[event.key];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(this.active);
    } else if (move) {
      event.preventDefault();
      const i = Math.min(this.x.length - 1, Math.max(0, this.active[0] + move[0]));
      const k = Math.min(this.rows.length - 1, Math.max(0, this.row.get(this.active[1]) + move[1]));
      this.focus(i, this.rows[k]);
    }
  }

  focus(i, state, scroll = true) {
    this.svg.querySelector('[tabindex="0"]')?.setAttribute("tabindex", -1);
    this.active = [i, state];
    if (scroll) {
      const x = this.x[i], { scrollLeft, clientWidth } = this.scroll;
      if (x < scrollLeft + 60) this.scroll.scrollLeft = x - 120;
      if (x > scrollLeft + clientWidth - 60) this.scroll.scrollLeft = x - clientWidth + 120;
      this.window();
    }
    const node = this.svg.querySelector(`[data-token="${i}"][data-state="${state}"]`);
    node?.setAttribute("tabindex", 0);
    node?.focus({ preventScroll: true });
  }
}

function cellOf(target) {
  const cell = target.closest?.("[data-token]");
  return cell ? [Number(cell.dataset.token), Number(cell.dataset.state)] : null;
}

function short(text) {
  return text.length > 22 ? `${text.slice(0, 20)}\u2026` : text;
}

// What the picture says about one state, in a line of words.
export function detail(lattice, { i, state, ways, path }) {
  const { record } = lattice, behind = lattice.behind[i][state], own = record.own[i][state];
  const name = h("strong", {}, record.states[state]), word = h("q", {}, record.tokens[i]);
  if (own === null || !Number.isFinite(behind)) {
    const fixedHere = lattice.allowed[i] !== undefined && !lattice.allows(i, state);
    return [name, " at ", word, fixedHere ? " is excluded by the label that you fixed here." : " is forbidden: no allowed path goes through it."];
  }
  const parts = [name, " at ", word, ": its own score ", h("b", {}, signed(own))];
  const best = ways[0];
  if (best && Number.isFinite(best.score)) parts.push(", best reached from ", h("strong", {}, record.states[best.from]), " (", h("b", {}, signed(best.edge)), ")");
  if (lattice.best[i] === state) parts.push(". It is on the best path.");
  else parts.push(`. The best path through it is `, h("b", {}, fixed(behind)), " behind", path.length ? ": " : ".", path.length ? h("span", { class: "runner" }, changes(lattice, path)) : "");
  return parts;
}

function changes(lattice, path) {
  const told = path.map((state, k) => (state !== lattice.best[k] ? `${lattice.record.tokens[k]} ${lattice.record.states[state]}` : null)).filter(Boolean);
  return told.length > 5 ? `${told.slice(0, 5).join(", ")} and ${told.length - 5} more` : told.join(", ");
}
