// View 3: how sure. Confidences as shades, spans with their probabilities, the n best readings with what differs.

import { h, replace, heading, problem, latest, section } from "./dom.js";
import { fixed, percent } from "./format.js";
import { heatMap } from "./heat.js";

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
  return section("Every label at every token", `Labels that have a share of half a percent somewhere: ${rows.length} of ${found.labels.length}.`,
    heatMap({
      rows: rows.map((k) => found.labels[k]), columns: found.tokens, size: 40, wide: true,
      value: (r, c) => found.marginals[c][rows[r]], shade: (value) => value, kind: "blue",
      text: (value) => (value >= 0.005 ? String(Math.round(100 * value)) : ""),
      told: (r, c, value) => `${found.tokens[c]}, ${found.labels[rows[r]]}: ${percent(value, 2)}`,
      mark: (r, c) => found.best[c] === rows[r], label: "Confidence of each label at each token, in percent",
    }));
}

function readings(found, list) {
  const best = list.sequences[0];
  return section(`The ${list.sequences.length} best readings`, "What differs from the best one is marked.",
    h("div", { class: "scroll" }, h("table", { class: "readings" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, best.probability === null ? "behind" : "share"), list.tokens.map((token) => h("th", { scope: "col" }, token)))),
      h("tbody", {}, list.sequences.map((one, k) => h("tr", { class: k ? "" : "is-best" },
        h("th", { scope: "row" }, one.probability === null ? fixed(best.score - one.score) : percent(one.probability, 2)),
        one.labels.map((label, i) => h("td", { class: label === best.labels[i] ? (k ? "same" : "") : "differs" }, label))))))));
}
