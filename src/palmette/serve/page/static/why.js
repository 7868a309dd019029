// View 2: why these labels. The attributes for and against, as bars that add up to the difference of the two scores.

import { h, replace, heading, problem, latest, section } from "./dom.js";
import { fixed, signed } from "./format.js";
import { waterfall } from "./bars.js";

const SHOWN = 14;

export function whyView(app) {
  const state = { token: app.takePlace().token ?? null, label: null, all: false };
  const body = h("div", {}), words = h("div", { class: "why-words" });

  const ask = latest(
    async (request) => [await app.view("trellis", request), await app.view("explanation", { ...request, ...chosen() })],
    ([trellis, found]) => draw(trellis, found),
    (error) => replace(body, words, problem(error)),
  );

  function chosen() {
    if (state.token === null) return {};
    return { token: state.token, ...(state.label === null ? {} : { label: state.label }) };
  }

  function load() {
    const request = app.sentence();
    return request ? ask(request) : replace(body, app.noSentence());
  }

  function pick(token, label = null) {
    [state.token, state.label, state.all] = [token, label, false];
    load();
  }

  function draw(trellis, found) {
    replace(words, tokens(trellis, found), instead(trellis, found));
    replace(body, words, sentence(found), bars(found), changed(found));
  }

  function tokens(trellis, found) {
    return h("ul", { class: "tokens", "aria-label": "Choose a token" },
      h("li", {}, h("button", { class: "token-button", "aria-pressed": String(state.token === null), on: { click: () => pick(null) } }, h("span", {}, "all tokens"), h("small", {}, "against the runner-up"))),
      found.tokens.map((token, i) => {
        const differs = found.first.labels[i] !== found.second.labels[i];
        return h("li", {}, h("button", { class: `token-button${differs ? " differs" : ""}`, "aria-pressed": String(state.token === i), "data-token": i, on: { click: () => pick(i) } },
          h("span", {}, token), h("small", {}, found.first.labels[i])));
      }));
  }

  // The other labels of the chosen token, the nearest first.
  function instead(trellis, found) {
    if (state.token === null) return null;
    const near = new Map();
    trellis.behind[state.token].forEach((behind, k) => {
      const label = trellis.labels[trellis.label_of[k]];
      if (behind !== null && behind < (near.get(label) ?? Infinity)) near.set(label, behind);
    });
    near.delete(found.first.labels[state.token]);
    const other = found.second.labels[state.token];
    const list = [...near].sort((a, b) => a[1] - b[1]).slice(0, 12);
    if (!app.source.live) return h("p", { class: "note" }, `Why ${found.first.labels[state.token]} and not ${other}, the next best label here?`);
    return h("div", {}, h("p", { class: "note" }, `Why ${found.first.labels[state.token]} and not \u2026`),
      h("ul", { class: "chips" }, list.map(([label, behind]) =>
        h("li", {}, h("button", { class: "chip", "aria-pressed": String(label === other), on: { click: () => pick(state.token, label) } }, label, h("small", {}, fixed(behind, 1)))))));
  }

  function sentence(found) {
    const row = (name, kind, reading, other) => h("tr", { class: kind }, h("th", { scope: "row" }, name),
      reading.labels.map((label, i) => h("td", { class: label !== other.labels[i] ? "differs" : "" }, reading.states?.[i] ?? label)), h("td", { class: "number" }, fixed(reading.score, 3)));
    return section("Two readings", null, h("div", { class: "scroll" }, h("table", { class: "readings" },
      h("thead", {}, h("tr", {}, h("td", {}), found.tokens.map((token) => h("th", { scope: "col" }, token)), h("th", { scope: "col", class: "number" }, "score"))),
      h("tbody", {}, row("best", "is-best", found.first, found.second), row("instead", "is-second", found.second, found.first)))));
  }

  function bars(found) {
    const parts = found.contributions.map((one) => ({ name: one.name || one.attribute, about: `at \u201c${found.tokens[one.token]}\u201d \u00b7 ${one.first} against ${one.second}`, amount: one.amount }));
    return section("What speaks for it, and against", "Each bar begins where the one above it ended; together they make the difference of the two scores.",
      waterfall(parts, found.difference, state.all ? parts.length : SHOWN),
      !state.all && parts.length > SHOWN ? h("button", { class: "quiet", on: { click: () => ((state.all = true), load()) } }, `Show all ${parts.length}`) : null);
  }

  function changed(found) {
    const name = (k) => {
      const one = found.contributions[k];
      return h("li", {}, h("strong", {}, one.name || one.attribute), ` at \u201c${found.tokens[one.token]}\u201d (${signed(one.amount)})`);
    };
    const { alone, together } = found.flips;
    const lead = alone.length
      ? (alone.length === 1 ? "Without this alone the other reading would have won:" : "Without any one of these the other reading would have won:")
      : `No single attribute decides. Without these ${together.length} together the other reading would have won:`;
    const list = alone.length ? alone : together;
    return section("What would have changed it", lead, h("ul", { class: "flips" }, list.slice(0, 10).map(name)),
      list.length > 10 ? h("p", { class: "note" }, `and ${list.length - 10} more`) : null);
  }

  app.onSentence(() => pick(null));
  load();
  return h("article", {}, heading("Why", "The best reading against another one, weight by weight. Choose a token to ask about it alone."), app.sentenceBar(), body);
}
