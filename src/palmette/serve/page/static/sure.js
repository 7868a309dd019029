// View 3: how sure. Confidences as shades, spans with their probabilities, the n best readings with what differs.

import { h, replace, heading, problem, latest, section } from "./dom.js";
import { fixed, percent } from "./format.js";
import { heatMap } from "./heat.js";

const WIDEST = 30; // tokens of a map; of longer sentences readings show the tokens at which they differ

export function sureView(app) {
  const body = h("div", {});
  const ask = latest(
    async (request) => [await app.view("marginals", request), await app.view("nbest", app.source.live ? { ...request, n: 10 } : request)],
    ([found, list]) => replace(body, shades(found), spans(found), table(found), readings(found, list)),
    (error) => replace(body, problem(error)),
  );
  const load = () => {
    const request = app.sentence();
    return request ? ask(request) : replace(body, app.noSentence());
  };
  app.onSentence(load);
  load();
  return h("article", {}, heading("How sure", "The share that each label has among all label sequences, weighed by their scores."), app.sentenceBar(), body);
}

function shades(found) {
  const what = found.probabilities ? "probability" : "confidence";
  return h("div", {},
    h("p", { class: "summary" }, `All labels together: `, h("b", {}, percent(found.sentence)), found.probabilities ? "" : h("span", { class: "note" }, " \u2014 this model is not calibrated, so these are confidences, not probabilities (palmette calibrate)")),
    h("ul", { class: "shaded", "aria-label": `Tokens with the ${what} of their labels` }, found.tokens.map((token, i) => {
      const sure = found.confidence[i];
      const others = found.marginals[i].map((share, k) => [share, k]).filter(([share, k]) => k !== found.best[i] && share >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 2);
      return h("li", { class: sure < 0.5 ? "unsure" : "", "data-confidence": sure },
        h("span", { class: "fill", style: { opacity: (Math.max(0, 1 - sure) ** 0.6).toFixed(3) } }),
        h("span", { class: "word" }, token), h("span", { class: "tag" }, found.labels[found.best[i]]), h("span", { class: "share" }, percent(sure)),
        others.map(([share, k]) => h("span", { class: "other" }, `${found.labels[k]} ${percent(share)}`)));
    })),
    h("p", { class: "note" }, "The more orange, the less sure; below each label its share and its nearest rivals."));
}

function spans(found) {
  if (!found.spans) return null;
  if (!found.spans.length) return section("Spans", "There is none in the best reading.");
  return section("Spans", "A span counts only with both edges and its type.",
    h("ol", { class: "spans" }, found.spans.map((span) =>
      h("li", { "data-confidence": span.confidence }, h("span", { class: "span-type" }, span.type),
        h("span", { class: "span-text" }, found.tokens.slice(span.start, span.end).join(" ")),
        h("span", { class: "meter" }, h("i", { style: { width: `${100 * span.confidence}%` } })), h("b", {}, percent(span.confidence))))));
}

function table(found) {
  const rows = found.labels.map((_, k) => k).filter((k) => found.best.includes(k) || found.marginals.some((row) => row[k] >= 0.005));
  const parts = [];
  for (let first = 0; first < found.tokens.length; first += WIDEST) parts.push(first);
  return section("Every label at every token", `Labels that have a share of half a percent somewhere: ${rows.length} of ${found.labels.length}.`,
    parts.map((first) => h("div", { class: parts.length > 1 ? "later" : "" }, shares(found, rows, first))));
}

// The tokens from one on, as many as a map has.
function shares(found, rows, first) {
  const tokens = found.tokens.slice(first, first + WIDEST);
  return heatMap({
    rows: rows.map((k) => found.labels[k]), columns: tokens, size: 40, wide: true,
    value: (r, c) => found.marginals[first + c][rows[r]], shade: (value) => value, kind: "blue",
    text: (value) => (value >= 0.005 ? String(Math.round(100 * value)) : ""),
    told: (r, c, value) => (value >= 0.005 ? `${tokens[c]}, ${found.labels[rows[r]]}: ${percent(value, 2)}` : null),
    mark: (r, c) => found.best[first + c] === rows[r], label: `Confidence of each label at the tokens from ${first + 1} on, in percent`,
  });
}

function readings(found, list) {
  const best = list.sequences[0], all = list.tokens.map((_, i) => i);
  const long = all.length > WIDEST, differing = all.filter((i) => list.sequences.some((one) => one.labels[i] !== best.labels[i]));
  const shown = long ? differing : all;
  return section(`The ${list.sequences.length} best readings`, long ? "The tokens at which they differ; what differs from the best one is marked." : "What differs from the best one is marked.",
    h("div", { class: "scroll" }, h("table", { class: "readings" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, best.probability === null ? "behind" : "share"), shown.map((i) => h("th", { scope: "col" }, long ? `${i + 1}. ${list.tokens[i]}` : list.tokens[i])))),
      h("tbody", {}, list.sequences.map((one, k) => h("tr", { class: k ? "" : "is-best" },
        h("th", { scope: "row" }, one.probability === null ? fixed(best.score - one.score) : percent(one.probability, 2)),
        shown.map((i) => h("td", { class: one.labels[i] === best.labels[i] ? (k ? "same" : "") : "differs" }, one.labels[i]))))))));
}
