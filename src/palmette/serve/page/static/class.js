// The view of a classifier: which class, by how much, and the latent tags that the score comes from.

import { h, replace, heading, problem, latest, section } from "./dom.js";
import { signed } from "./format.js";

export function classView(app) {
  const body = h("div", {});
  let widest = 1e-9; // scores have no unit: the bar is in proportion to the largest seen so far
  const ask = latest((request) => app.view("class", request), (found) => {
    widest = Math.max(widest, Math.abs(found.score));
    replace(body, verdict(found, widest), structures(found));
  }, (error) => replace(body, problem(error)));
  const load = () => {
    const request = app.sentence();
    return request ? ask(request) : replace(body, app.noSentence());
  };
  app.onSentence(load);
  load();
  return h("article", {}, heading("The class", `A score below 0 means \u201c${app.about.classes[0]}\u201d, one of 0 and above \u201c${app.about.classes[1]}\u201d.`), app.sentenceBar(), body);
}

function verdict(found, widest) {
  const share = `${(50 * Math.abs(found.score)) / widest}%`;
  return h("div", { class: "verdict-class", "data-score": found.score },
    h("ul", { class: "figures" }, h("li", {}, h("b", {}, found.classes[found.class]), h("span", {}, "class")), h("li", {}, h("b", {}, signed(found.score, 3)), h("span", {}, "score"))),
    h("div", { class: "scale-names" }, h("span", {}, found.classes[0]), h("span", {}, found.classes[1])),
    h("div", { class: "weight-room scale" }, h("i", { class: found.score >= 0 ? "for" : "against", style: { width: share } })));
}

function structures(found) {
  const views = Object.entries(found.structures);
  return section("Latent tags", "What the classifier sees in the sentence; it learnt these tags by itself.", h("div", { class: "scroll" }, h("table", { class: "readings" },
    h("thead", {}, h("tr", {}, h("td", {}), found.tokens.map((token) => h("th", { scope: "col" }, token)))),
    h("tbody", {}, views.map(([name, tags]) => h("tr", {}, h("th", { scope: "row" }, name), tags.map((tag) => h("td", {}, tag))))))));
}
