// Two models on the same data: their figures with intervals, whether the difference is significant, and where.

import { h, replace, problem } from "./dom.js";
import { fixed, percent, counted } from "./format.js";
import { WindowedList } from "./windowed.js";

export function compareView(app, request, other) {
  const body = h("div", {}, h("p", { class: "empty", role: "status" }, "Comparing\u2026"));
  app.view("compare", { ...request, other }).then((found) => draw(body, found), (error) => replace(body, problem(error)));
  return body;
}

function draw(body, found) {
  const pair = found.pairs[0], main = pair.f1 ?? pair.accuracy, name = pair.f1 ? "F1" : "accuracy";
  const p = main.p;
  const verdict = p < 0.05
    ? `The difference of ${fixed(100 * Math.abs(main.value), 2)} points of ${name} is significant (p = ${shortP(p)}).`
    : `The difference of ${fixed(100 * Math.abs(main.value), 2)} points of ${name} may be chance (p = ${shortP(p)}).`;
  const list = new WindowedList((one) => differing(one, found), "Sentences on which the two differ", 70);
  replace(body, h("p", { class: "summary verdict" }, verdict),
    h("div", { class: "systems" }, found.systems.map((system, k) => interval(system, found, k))),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, found.where[0]?.kind ?? ""), found.names.map((one) => h("th", { scope: "col", class: "number" }, one)), h("th", { scope: "col", class: "number" }, "in gold"))),
      h("tbody", {}, found.where.slice(0, 24).map((row) => h("tr", {}, h("th", { scope: "row" }, row.kind === "words" ? `${row.name} words` : row.name),
        row.scores.map((score, k) => h("td", { class: `number${row.best.length === 1 && row.best[0] === found.names[k] ? " better" : ""}` }, percent(score))), h("td", { class: "number" }, row.gold)))))),
    h("p", { class: "note" }, `They differ on ${counted(found.differing_sentences, "sentence")}. Tests by ${found.rounds.toLocaleString("en-US")} rounds of randomisation; bars are ${100 * found.level}% intervals.`), list.node);
  list.show(found.differences);
}

function shortP(p) {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

function interval(system, found, k) {
  const key = system.f1 === null ? "accuracy" : "f1";
  const all = found.systems.flatMap((one) => [one[`${key}_interval`].low, one[`${key}_interval`].high]);
  const low = Math.min(...all), high = Math.max(...all), { low: from, high: to } = system[`${key}_interval`];
  const place = (value) => 100 * ((value - low) / (high - low || 1));
  return h("div", { class: `system ${k ? "second" : "first"}` }, h("span", { class: "system-name" }, system.name), h("b", {}, percent(system[key], 2)),
    h("span", { class: "interval", title: `${percent(from, 2)} to ${percent(to, 2)}` }, h("i", { style: { left: `${place(from)}%`, width: `${place(to) - place(from)}%` } }), h("em", { style: { left: `${place(system[key])}%` } })),
    h("span", { class: "note" }, `${percent(from)} to ${percent(to)}`));
}

function differing(one, found) {
  const at = new Map(one.tokens.map((token) => [token.token, token]));
  return [h("span", { class: "row-number" }, one.sentence + 1), h("span", { class: "error-words" }, one.text.map((word, i) => {
    const token = at.get(i);
    if (!token) return h("span", { class: "word" }, word, " ");
    return h("span", { class: "word wrong" }, word, h("small", {}, h("span", { class: "right" }, token.gold), found.names.map((name, k) => h("span", { class: token.guesses[k] === token.gold ? "agrees" : "said" }, `${name}: ${token.guesses[k]}`))));
  }))];
}
