// Lines over passes, named at their ends; no legend, few marks.

import { inWords } from "./names.js";
import { s, h, textWidth } from "./dom.js";

const HIGH = 240, TOP = 18, BOTTOM = 34, LEFT = 52;

// lines: [{ name, kind, points: [[x, y], ...] }]; all on one scale.
export function lineChart({ lines, unit, format, mark = null, width = Math.min(560, Math.max(320, innerWidth - 48)), label }) {
  const there = lines.filter((line) => line.points.length);
  const right = 16 + Math.max(40, ...there.map((line) => textWidth(`${line.name} ${format(line.points.at(-1)[1])}`, 12.5, 600)));
  const xs = there.flatMap((line) => line.points.map(([x]) => x)), ys = there.flatMap((line) => line.points.map(([, y]) => y));
  const x0 = Math.min(...xs), x1 = Math.max(x0 + 1, ...xs);
  const ticks = ticksOf(Math.min(...ys), Math.max(...ys));
  const y0 = ticks[0], y1 = ticks.at(-1);
  const x = (value) => LEFT + ((value - x0) / (x1 - x0)) * (width - LEFT - right);
  const y = (value) => HIGH - BOTTOM - ((value - y0) / (y1 - y0 || 1)) * (HIGH - BOTTOM - TOP);
  const ends = spread(there.map((line) => y(line.points.at(-1)[1])));
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${HIGH}`, role: "img", "aria-label": `${label}: ${there.map((line) => `${line.name} ends at ${format(line.points.at(-1)[1])}`).join(", ")}` },
    ticks.map((tick) => [s("line", { class: "grid", x1: LEFT, x2: width - right, y1: y(tick), y2: y(tick) }), s("text", { class: "tick y", x: LEFT - 8, y: y(tick) + 4, text: format(tick) })]),
    [...new Set([x0, ...ticksOf(x0, x1).filter((tick) => tick > x0 && tick < x1 - (x1 - x0) * 0.06 && Number.isInteger(tick)), x1])].map((tick) => s("text", { class: "tick x", x: x(tick), y: HIGH - 14, text: tick })),
    s("text", { class: "tick x", x: LEFT + (width - LEFT - right) / 2, y: HIGH - 1, text: unit }),
    mark !== null && mark >= x0 && mark <= x1 ? [s("line", { class: "kept", x1: x(mark), x2: x(mark), y1: TOP - 6, y2: HIGH - BOTTOM }), s("text", { class: "tick x", x: x(mark), y: TOP - 9, text: "kept" })] : null,
    there.map((line, k) => s("g", { class: `line ${line.kind}` },
      s("polyline", { points: line.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ") }),
      s("circle", { cx: x(line.points.at(-1)[0]), cy: y(line.points.at(-1)[1]), r: 3.5 }),
      s("text", { x: x(line.points.at(-1)[0]) + 9, y: ends[k] + 4, text: `${line.name} ${format(line.points.at(-1)[1])}` }))));
}

function ticksOf(low, high) {
  if (low === high) [low, high] = [low - Math.abs(low || 1) * 0.05, high + Math.abs(high || 1) * 0.05];
  const raw = (high - low) / 4, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * unit).find((one) => one >= raw);
  const found = [];
  for (let at = Math.floor(low / step + 1e-9) * step; at < high + step * 0.999; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

// Names that would cover each other are moved apart.
function spread(places) {
  const order = places.map((_, k) => k).sort((a, b) => places[a] - places[b]);
  const made = [...places];
  for (let k = 1; k < order.length; k += 1) made[order[k]] = Math.max(made[order[k]], made[order[k - 1]] + 16);
  return made;
}

export function weightBars(rows, most) {
  const top = Math.max(1e-9, most ?? Math.max(...rows.map((row) => Math.abs(row.weight))));
  return h("ol", { class: "weights" }, rows.map((row) => h("li", { title: inWords(row.name ?? "") ?? row.attribute ?? row.label },
    h("span", { class: "weight-name" }, row.name ?? row.label),
    h("span", { class: "weight-room" }, h("i", { class: row.weight >= 0 ? "for" : "against", style: { width: `${(50 * Math.abs(row.weight)) / top}%` } })),
    h("span", { class: "weight-value" }, row.weight.toFixed(2).replace("-", "\u2212")))));
}
