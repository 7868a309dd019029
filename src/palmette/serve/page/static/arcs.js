// Trees as arcs over words.

import { s, textWidth } from "./dom.js";

const STEP = 26, CORNER = 8, GAP = 20, EDGE = 14;

// How high each arc must be so that none crosses a name: short ones below.
export function levels(heads) {
  const found = new Map(), done = [];
  const arcs = heads.map((head, k) => ({ word: k + 1, from: Math.min(head, k + 1), to: Math.max(head, k + 1), head })).filter((arc) => arc.head > 0);
  for (const arc of arcs.sort((a, b) => a.to - a.from - (b.to - b.from))) {
    const inside = done.filter((other) => other.from < arc.to && other.to > arc.from);
    const taken = new Set(inside.map((other) => other.level));
    let level = 1;
    while (taken.has(level)) level += 1;
    const nested = inside.filter((other) => other.from >= arc.from && other.to <= arc.to).map((other) => other.level);
    level = Math.max(level, 1 + Math.max(0, ...nested));
    done.push({ ...arc, level });
    found.set(arc.word, level);
  }
  return found;
}

// words, tags, and arcs above and below: [{ heads (0: the root, -1: none yet), relations, kind(k) }]
export function arcsPicture({ words, tags, above, below = null, label, rows: least = 0, ask = null, mark = () => "" }) {
  const sizes = words.map((word, k) => Math.max(textWidth(word, 15, 550), textWidth(tags?.[k] ?? "", 11), 18));
  const x = [];
  words.forEach((_, k) => {
    let room = k ? (sizes[k - 1] + sizes[k]) / 2 + GAP : EDGE + sizes[0] / 2;
    for (const tree of [above, below]) {
      if (k && tree && tree.heads[k - 1] === k + 1) room = Math.max(room, textWidth(tree.relations[k - 1], 11) + 20);
      if (k && tree && tree.heads[k] === k) room = Math.max(room, textWidth(tree.relations[k], 11) + 20);
    }
    x.push(k ? x[k - 1] + room : room);
  });
  const up = levels(above.heads), rows = Math.max(least, ...up.values()) + (above.heads.includes(0) ? 1 : 0);
  const top = 20 + STEP * rows + 8;
  const down = below ? levels(below.heads) : new Map(), deep = below ? Math.max(0, ...down.values()) + (below.heads.includes(0) ? 1 : 0) : 0;
  const foot = top + 40;
  const width = (x.at(-1) ?? 0) + (sizes.at(-1) ?? 0) / 2 + EDGE, height = foot + (deep ? STEP * deep + 18 : 0);
  return s("svg", { class: "arcs", width, height, role: ask ? "group" : "img", "aria-label": label ?? toldTree(words, above) },
    drawn(above, up, rows, x, top, -1, sizes, ask), below ? drawn(below, down, deep, x, foot, 1, sizes, null) : null,
    words.map((word, k) => s("g", { class: `word-group ${mark(k)}` }, s("text", { class: "word", x: x[k], y: top + 19, text: word }), tags?.[k] ? s("text", { class: "tag", x: x[k], y: top + 34, text: tags[k] }) : null)));
}

function toldTree(words, tree) {
  return words.map((word, k) => (tree.heads[k] < 0 ? null : `${word}: ${tree.relations[k]}${tree.heads[k] > 0 ? ` of ${words[tree.heads[k] - 1]}` : ""}`)).filter(Boolean).join("; ");
}

function drawn(tree, level, rows, x, foot, side, sizes, ask) {
  const lines = [], names = [];
  tree.heads.forEach((head, k) => {
    const kind = tree.kind?.(k) ?? "";
    if (head < 0 || kind === "hidden") return;
    const end = x[k];
    if (head === 0) {
      const far = foot + side * STEP * rows;
      lines.push(s("g", { class: kind }, s("path", { class: "arc", d: `M${end} ${far}V${foot}` }), tip(end, foot, side)));
      names.push(s("text", { class: `relation ${kind}`, x: end, y: far + (side > 0 ? 13 : -5), text: tree.relations[k] }));
      return;
    }
    const way = end > x[head - 1] ? 1 : -1, far = foot + side * STEP * level.get(k + 1);
    const start = x[head - 1] + way * Math.min(6, sizes[head - 1] / 3), bend = -side * CORNER;
    lines.push(s("g", { class: kind }, s("path", { class: "arc", d: `M${start} ${foot}V${far + bend}Q${start} ${far} ${start + way * CORNER} ${far}H${end - way * CORNER}Q${end} ${far} ${end} ${far + bend}V${foot}` }), tip(end, foot, side)));
    const act = ask && { tabindex: 0, role: "button", "aria-label": `Why ${tree.relations[k]}?`, on: { click: () => ask(k), keydown: (event) => event.key === "Enter" && ask(k) } };
    names.push(s("text", { class: `relation ${kind}${ask ? " asks" : ""}`, x: (start + end) / 2, y: far + 4, text: tree.relations[k], ...act }));
  });
  return [lines, names];
}

function tip(x, foot, side) {
  return s("path", { class: "tip", d: `M${x} ${foot}l-3.5 ${side * 7}h7z` });
}

// A guessed tree above the words and, below them, what is right where it differs.
export function treePair(one, labels) {
  const differs = one.tokens.map((_, i) => one.gold_heads[i] !== one.guess_heads[i] || one.gold[i] !== one.guess[i]);
  const node = arcsPicture({
    words: one.tokens, tags: one.tags,
    above: { heads: one.guess_heads, relations: one.guess.map((k) => labels[k]), kind: (k) => (differs[k] ? "said" : "") },
    below: { heads: one.gold_heads.map((head, k) => (differs[k] ? head : -1)), relations: one.gold.map((k) => labels[k]), kind: () => "right" },
  });
  const frame = document.createElement("div");
  frame.className = "scroll arcs-frame";
  frame.append(node);
  return frame;
}
