// A sentence that the reader types, tagged in the page itself by the runtime inside of the file; no server is asked.

import { h, replace, heading, problem, section, debounced } from "./dom.js";
import { fixed, signed } from "./format.js";
import { heatMap } from "./heat.js";
import { load } from "./palmette.js";

const SHOWN = 14;

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

export function typedView(app) {
  const out = h("div", {}), input = h("textarea", { id: "typed", rows: 3, spellcheck: "false" });
  const state = { token: 0 };
  let tagger = null;

  async function start() {
    const { model, wasm } = await app.view("typed");
    tagger = await load({ model: bytes(model), wasm: bytes(wasm) });
    if (tagger.columns !== 1) hint.textContent = `One token per line, its ${tagger.columns ? "columns" : "attributes"} separated by spaces.`;
    show();
  }

  function sentence() {
    if (tagger.columns === 1) return input.value;
    return input.value.split("\n").map((line) => line.split(/\s+/).filter(Boolean)).filter((row) => row.length);
  }

  function show() {
    if (!tagger) return;
    try {
      const found = tagger.explain(sentence());
      state.token = Math.min(state.token, Math.max(0, found.tokens.length - 1));
      replace(out, found.tokens.length ? [words(found), why(found), trellis(found)] : h("p", { class: "lead" }, "Type a sentence."));
    } catch (error) {
      replace(out, problem(error));
    }
  }

  function words(found) {
    return h("ul", { class: "tokens", "aria-label": "Choose a token" }, found.tokens.map((token, i) =>
      h("li", {}, h("button", { class: "token-button", "aria-pressed": String(state.token === i), "data-token": i, on: { click: () => ((state.token = i), show()) } },
        h("span", {}, token), h("small", {}, found.labels[i])))));
  }

  // The attributes of the chosen token, for its label and against the best other one.
  function why(found) {
    const { scores, attributes } = found.explained[state.token], label = tagger.labels.indexOf(found.labels[state.token]);
    let other = label === 0 ? 1 : 0;
    scores.forEach((score, k) => (other = k !== label && score > scores[other] ? k : other));
    if (other >= tagger.labels.length) return null;
    const rows = attributes.map(({ name, weights }) => [name, weights[label] - weights[other]]);
    rows.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    return section(`Why ${found.labels[state.token]} and not ${tagger.labels[other]}`, "The attributes with the largest differences of weights.",
      h("div", { class: "scroll" }, h("table", { class: "reasons" }, h("tbody", {}, rows.slice(0, SHOWN).map(([name, weight]) =>
        h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)), h("td", {}, signed(weight))))))));
  }

  // The score of every label for each token alone.
  function trellis(found) {
    const best = found.explained.map(({ scores }) => Math.max(...scores));
    const least = found.explained.map(({ scores }) => Math.min(...scores.filter(Number.isFinite)));
    return section("Scores of the labels", "Of each token alone; the best path, which has transitions too, is marked.", heatMap({
      rows: tagger.labels, columns: found.tokens, label: "Scores of the labels", size: 46, slanted: true,
      value: (r, c) => (Number.isFinite(found.explained[c].scores[r]) ? found.explained[c].scores[r] : null),
      shade: (value, r, c) => (best[c] > least[c] ? (value - least[c]) / (best[c] - least[c]) : 1),
      text: (value) => fixed(value), told: (r, c, value) => `${found.tokens[c]}, ${tagger.labels[r]}: ${value === null ? "not allowed" : fixed(value)}`,
      mark: (r, c) => found.labels[c] === tagger.labels[r],
    }));
  }

  const hint = h("span", {}, "A sentence, tagged as you type; it does not leave this page.");
  input.addEventListener("input", debounced(show, 80));
  start().catch((error) => replace(out, problem(error)));
  return h("article", {}, heading("Type a sentence"), h("p", {}, h("label", { for: "typed" }, hint)), input, out);
}
