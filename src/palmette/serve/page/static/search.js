// View 1: type a sentence, watch the search.

import { h, replace, heading, problem, select, latest } from "./dom.js";
import { fixed, sequences, counted, percent } from "./format.js";
import { Lattice } from "./lattice.js";
import { Trellis, detail } from "./trellis.js";

const SPOKEN = 8; // changes that are told one by one

export function searchView(app) {
  const state = { allowed: {}, most: "10", beam: "", path: null, record: null };
  const body = h("div", {}), picture = h("div", {}), summary = h("p", { class: "summary", "aria-live": "polite" });
  const about = h("p", { class: "detail" });
  const hint = "Point at a circle for the best path through it. Click it, or press Enter, to fix its label.";

  const ask = latest(
    (request) => app.view("trellis", request),
    (record) => {
      state.record = { ...record }; // the beam of it may be another one later
      state.lattice = new Lattice(state.record);
      if (!Object.keys(record.allowed).length) state.free = record.paths[0].score; // the best score of all
      state.allowed = { ...record.allowed };
      if (!app.source.live && state.beam !== "") widen(state.beam); // a file has the search of the training only
      else draw(state.place);
      state.place = undefined;
    },
    (error) => replace(body, problem(error)),
  );

  // Another width of the beam, or none: the browser searches if it can, else the server.
  function widen(value) {
    state.beam = value;
    const { lattice, record } = state;
    if (!lattice.exact) return load();
    const width = value === "" ? record.beam_of_model : Number(value);
    record.beam = width ? lattice.beam(width, record.recombine) : null;
    return draw();
  }

  function load() {
    const request = app.sentence();
    if (!request) return replace(body, app.noSentence());
    state.path = null;
    return ask({ ...request, ...(state.beam === "" ? {} : { beam: Number(state.beam) }), ...(app.source.live ? { allowed: state.allowed } : {}) });
  }

  function fix(i, label, place) {
    const now = { ...state.allowed };
    if (now[i] === label) delete now[i];
    else now[i] = label;
    move(now, place);
  }

  function move(now, place) {
    const { lattice } = state;
    state.path = null;
    if (lattice.exact) {
      const before = state.allowed, path = lattice.best;
      lattice.solve(now);
      if (!lattice.best.length) {
        lattice.solve(before);
        app.say("No label sequence is allowed with that: a transition that it needs is forbidden.");
        return;
      }
      state.allowed = now;
      if (state.record.beam) state.record.beam = lattice.beam(state.record.beam.width, state.record.recombine);
      draw(place);
      app.say(moved(lattice, path), false);
    } else if (app.source.live) {
      state.allowed = now;
      state.place = place;
      ask({ ...app.sentence(), ...(state.beam === "" ? {} : { beam: Number(state.beam) }), allowed: now });
    } else {
      app.say("The tables of this model are too large for a file: labels can be fixed on the page of palmette serve.");
    }
  }

  function draw(place) {
    const { lattice, record } = state;
    const rows = state.most === "all" ? record.states.map((_, k) => k) : lattice.nearest(Number(state.most));
    const left = picture.querySelector(".across")?.scrollLeft ?? 0;
    const drawn = new Trellis(lattice, rows, {
      fix, path: state.path, width: app.main.clientWidth,
      detail: (found) => replace(about, ...(found ? detail(lattice, found) : [hint])),
    });
    if (place) drawn.active = place;
    replace(picture, drawn.node);
    state.drawn = drawn;
    replace(about, hint);
    replace(summary, ...told());
    replace(body, summary, controls(rows), picture, about, key(record), rivals());
    drawn.scroll.scrollLeft = left; // an element that was not in the page does not scroll
    drawn.window(true);
    if (place) drawn.focus(...place, false);
  }

  function told() {
    const { lattice, record } = state, n = record.tokens.length, kinds = record.labels.length;
    const second = record.paths[1], moved = Object.keys(state.allowed).length;
    const parts = [h("b", {}, sequences(kinds, n)), ` label sequences; the best one scores `, h("b", {}, fixed(lattice.score))];
    if (moved) parts.push(`, ${fixed(state.free - lattice.score)} less than without the ${counted(moved, "label")} that you fixed`);
    else if (second) parts.push(`, the runner-up ${fixed(record.paths[0].score - second.score)} less`);
    parts.push(".");
    const beam = record.beam;
    if (beam) {
      const lost = beam.has_best.indexOf(false);
      parts.push(lost < 0 ? ` A beam of ${beam.width} keeps the best path to the end.` : h("span", { class: "runner" }, ` A beam of ${beam.width} loses the best path at \u201c${record.tokens[lost]}\u201d.`));
    }
    return parts;
  }

  function controls(rows) {
    const { record } = state, fixedNow = Object.keys(state.allowed).length;
    const what = record.states.length > record.labels.length ? "states" : "labels";
    return h("div", { class: "controls" },
      select("Rows", [["6", `nearest 6 ${what}`], ["10", `nearest 10 ${what}`], ["20", `nearest 20 ${what}`], ["all", `all ${record.states.length} ${what}`]], state.most, (value) => {
        state.most = value;
        draw();
      }),
      app.source.live || state.lattice.exact ? select("Search", [["", record.beam_of_model ? `as trained: beam of ${record.beam_of_model}` : "as trained: exact"], ["0", "exact"], ["1", "beam of 1"], ["2", "beam of 2"], ["3", "beam of 3"], ["5", "beam of 5"], ["8", "beam of 8"]], state.beam, widen) : null,
      rows.length < record.states.length ? h("span", { class: "note" }, `${record.states.length - rows.length} further ${what} are not shown`) : null,
      fixedNow ? h("button", { class: "quiet", on: { click: () => move({}) } }, `Free the ${counted(fixedNow, "fixed label")}`) : null);
  }

  function rivals() {
    const { record, lattice } = state;
    if (Object.keys(state.allowed).length || record.paths.length < 2) return null;
    const best = record.paths[0];
    const show = (path) => () => {
      state.path = path;
      state.drawn.options.path = path;
      state.drawn.drawPaths();
    };
    return h("section", { class: "part" }, h("h2", {}, "Runners-up"), h("p", { class: "note" }, "Point at one to see its path."),
      h("ol", { class: "rivals", start: 2 }, record.paths.slice(1).map((path) => {
        const differs = path.states.map((one, i) => [one, i]).filter(([one, i]) => lattice.label(one) !== lattice.label(best.states[i]));
        return h("li", { tabindex: 0, on: { pointerenter: show(path.states), focus: show(path.states), pointerleave: show(null), blur: show(null) } },
          h("span", { class: "figure" }, `${fixed(best.score - path.score)} behind`),
          path.probability === null ? null : h("span", { class: "figure" }, percent(path.probability)),
          h("span", {}, differs.map(([one, i], k) => [k ? ", " : "", record.tokens[i], " ", h("s", {}, lattice.label(best.states[i])), " ", h("ins", {}, lattice.label(one))])));
      })));
  }

  app.onSentence(() => {
    state.allowed = {};
    load();
  });
  load();
  return h("article", {}, heading("The search", "Every column is a token, every row a label. The model looks for the best way from left to right."), app.sentenceBar(), body);
}

// What moved, for those who do not see it.
function moved(lattice, path) {
  const { tokens, states } = lattice.record;
  const told = lattice.best.map((state, i) => (state === path[i] ? null : `${tokens[i]} ${states[state]}`)).filter(Boolean);
  if (!told.length) return "No label moved.";
  return `Labels now: ${told.slice(0, SPOKEN).join(", ")}${told.length > SPOKEN ? ` and ${told.length - SPOKEN} more` : ""}`;
}

function key(record) {
  const beam = record.beam !== null;
  return h("ul", { class: "key", "aria-label": "Key" },
    h("li", {}, h("i", { class: "mark best-mark" }), "best path"),
    h("li", {}, h("i", { class: "mark through-mark" }), "best path through a circle"),
    h("li", {}, h("i", { class: "mark shade-mark" }), "darker: nearer to the best; the number is how far behind"),
    h("li", {}, h("i", { class: "mark never-mark" }), "forbidden"),
    h("li", {}, h("i", { class: "mark lock-mark" }), "fixed by you"),
    beam ? h("li", {}, h("i", { class: "mark cross-mark" }), "not in the beam; numbers inside are places in it") : null);
}
