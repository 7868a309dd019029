// View 5: errors. A labelled file scored; the confusions filter the sentences; two models side by side.

import { h, replace, heading, problem, section, select } from "./dom.js";
import { counted, percent, short, whole } from "./format.js";
import { heatMap } from "./heat.js";
import { WindowedList } from "./windowed.js";
import { compareView } from "./compare.js";
import { treePair } from "./arcs.js";

const MOST_LABELS = 24;

export function errorsView(app) {
  const state = { found: null, data: null, name: "", chosen: null, word: null, unseen: "", other: "" };
  const body = h("div", {}), compared = h("div", {});

  async function score(request, name) {
    replace(body, h("p", { class: "empty", role: "status" }, "Scoring\u2026"));
    try {
      [state.found, state.data, state.name, state.chosen, state.word] = [await app.view("errors", request), request, name, null, null];
      draw();
    } catch (error) {
      replace(body, problem(error));
    }
  }

  async function take(file) {
    if (file) score({ data: await file.text() }, file.name);
  }

  function draw() {
    const { found } = state;
    const list = new WindowedList((one) => sentenceRow(app, found, one, wanted), "Sentences with errors", found.kind === "parser" ? 210 : 84);
    const count = h("p", { class: "note", role: "status" });
    const filter = () => {
      const shown = found.sentences.filter((one) => one.tokens.some((token, i) => wanted(one, i)));
      list.show(shown);
      const told = state.chosen ? ` with ${found.labels[state.chosen[0]]} taken for ${found.labels[state.chosen[1]]}` : "";
      replace(count, `${counted(shown.length, "sentence")}${told}${state.word === null ? "" : ` at \u201c${state.word}\u201d`}${state.unseen ? `, ${state.unseen} words` : ""} of ${counted(found.sentences.length, "sentence")} with errors. `,
        state.chosen || state.word !== null || state.unseen ? h("button", { class: "quiet", on: { click: () => choose(null, null, "") } }, "Show all") : null);
    };
    const choose = (pair, word = null, unseen = state.unseen) => {
      [state.chosen, state.word, state.unseen] = [pair, word, unseen];
      draw();
    };
    replace(body, figures(found, state.name), h("div", { class: "two" }, confusions(found, state, choose), frequent(found, state, choose)),
      byType(found), section("Sentences", null, h("div", { class: "controls" }, found.unseen_known ? select("Words", [["", "all"], ["unseen", "not in the training data"], ["seen", "in the training data"]], state.unseen, (value) => choose(state.chosen, state.word, value)) : null), count, list.node));
    filter();
    list.draw();
    drawOthers();
  }

  function wanted(one, i) {
    const wrong = one.gold[i] >= 0 && (one.gold[i] !== one.guess[i] || (one.gold_heads && one.gold_heads[i] !== one.guess_heads[i]));
    if (!wrong) return false;
    if (state.chosen && (one.gold[i] !== state.chosen[0] || one.guess[i] !== state.chosen[1])) return false;
    if (state.word !== null && one.tokens[i] !== state.word) return false;
    return !state.unseen || one.unseen.includes(i) === (state.unseen === "unseen");
  }

  function drawOthers() {
    if (!app.has("compare") || !app.about.others.length) return;
    const options = [["", "\u2014"], ...app.about.others.map((name) => [name, name])];
    replace(compared, section("Two models side by side", null, h("div", { class: "controls" }, select("Compare with", options, state.other, (value) => {
      state.other = value;
      drawOthers();
    })), state.other ? compareView(app, state.data, state.other) : null));
  }

  const prompt = app.source.live
    ? h("div", {
      class: "drop", on: {
        dragover: (event) => event.preventDefault(),
        drop: (event) => (event.preventDefault(), take(event.dataTransfer.files[0])),
      },
    }, h("label", { class: "file" }, h("span", {}, "Choose a labelled file"), h("input", { type: "file", on: { change: (event) => take(event.target.files[0]) } })),
    h("span", { class: "note" }, "or drop it here: in the format of the training data. It stays on this machine."))
    : null;
  if (!app.source.live) score({}, app.source.records.data ?? "");
  else if (app.files().includes("test")) score({ file: "test" }, "the test file");
  return h("article", {}, heading("Errors", "A labelled file, scored. Click a confusion to see its sentences."), prompt, body, compared);
}

function figures(found, name) {
  const scores = found.scores;
  const list = found.kind === "parser"
    ? [["LAS", percent(scores.las, 2)], ["UAS", percent(scores.uas, 2)], ["CLAS", percent(scores.clas, 2)]]
    : [
      ...(scores.f1 === null ? [] : [["F1", percent(scores.f1, 2)], ["precision", percent(scores.precision, 2)], ["recall", percent(scores.recall, 2)]]),
      ["tokens right", percent(scores.accuracy, 2)], ["sentences right", percent(scores.sentence_accuracy, 1)],
      ...(scores.unseen_accuracy === null ? [] : [[`of ${whole(scores.unseen_tokens)} unseen words right`, percent(scores.unseen_accuracy, 1)]]),
    ];
  return h("div", {}, h("p", { class: "note" }, name, name ? ": " : "", `${counted(scores.tokens ?? scores.words, found.kind === "parser" ? "word" : "token")} in ${counted(scores.sentences, "sentence")}`),
    h("ul", { class: "figures" }, list.map(([what, value]) => h("li", {}, h("b", {}, value), h("span", {}, what)))));
}

function confusions(found, state, choose) {
  const wrong = found.confusion.filter(([gold, guess]) => gold !== guess);
  const weight = new Map();
  for (const [gold, guess, count] of wrong) {
    weight.set(gold, (weight.get(gold) ?? 0) + count);
    weight.set(guess, (weight.get(guess) ?? 0) + count);
  }
  const order = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, MOST_LABELS).sort((a, b) => a - b);
  const counts = new Map(found.confusion.map(([gold, guess, count]) => [`${gold},${guess}`, count]));
  const at = (r, c) => counts.get(`${order[r]},${order[c]}`) ?? 0;
  const top = Math.max(1, ...wrong.map(([, , count]) => count));
  const chosen = state.chosen ? [order.indexOf(state.chosen[0]), order.indexOf(state.chosen[1])] : null;
  const note = weight.size > order.length ? `The ${order.length} labels with most errors of ${found.labels.length}.` : "Rows: what is right. Columns: what the model said.";
  return section("Confusions", note, order.length ? heatMap({
    rows: order.map((k) => found.labels[k]), columns: order.map((k) => found.labels[k]), size: order.length > 14 ? 28 : 36, slanted: true,
    value: at, shade: (value, r, c) => (r === c ? (value ? 0.16 : 0) : Math.sqrt(value / top)), kind: (r, c) => (r === c ? "teal" : "orange"), chosen,
    text: (value) => (value ? short(value) : ""),
    told: (r, c, value) => (r === c ? `${found.labels[order[r]]} right: ${value}` : `${found.labels[order[r]]} taken for ${found.labels[order[c]]}: ${value}`),
    click: (r, c) => r !== c && choose(chosen && chosen[0] === r && chosen[1] === c ? null : [order[r], order[c]]),
    label: "Confusions: rows are gold labels, columns what the model said",
  }) : h("p", { class: "empty" }, "There is no error."));
}

function frequent(found, state, choose) {
  const number = new Map(found.labels.map((label, k) => [label, k]));
  return section("Most frequent errors", null, h("div", { class: "frequent" }, h("table", {}, h("thead", {}, h("tr", {}, ["word", "right", "said", "times"].map((name, k) => h("th", { scope: "col", class: k === 3 ? "number" : "" }, name)))),
    h("tbody", {}, found.mistakes.map((one) => h("tr", {},
      h("td", {}, h("button", { class: "link", on: { click: () => choose([number.get(one.gold), number.get(one.guess)], one.word) } }, one.word)),
      h("td", { class: "right" }, one.gold), h("td", { class: "said" }, one.guess), h("td", { class: "number" }, one.count)))))));
}

function byType(found) {
  const kinds = found.kind === "parser" ? {} : Object.keys(found.scores.by_type).length ? found.scores.by_type : found.scores.by_label;
  const rows = Object.entries(kinds).sort((a, b) => b[1].gold - a[1].gold).slice(0, 30);
  if (!rows.length) return null;
  return section(Object.keys(found.scores.by_type).length ? "By type" : "By label", null, h("div", { class: "scroll" }, h("table", { class: "types" },
    h("thead", {}, h("tr", {}, ["", "F1", "", "precision", "recall", "in gold"].map((name, k) => (name ? h("th", { scope: "col", class: k > 2 ? "number" : "" }, name) : h("td", {}))))),
    h("tbody", {}, rows.map(([name, one]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, percent(one.f1)),
      h("td", { class: "type-bar" }, h("span", { class: "meter" }, h("i", { style: { width: `${100 * one.f1}%` } }))), h("td", { class: "number" }, percent(one.precision)), h("td", { class: "number" }, percent(one.recall)), h("td", { class: "number" }, whole(one.gold))))))));
}

function sentenceRow(app, found, one, wanted) {
  const number = h("span", { class: "row-number" }, one.number + 1);
  if (found.kind === "parser") return [number, treePair(one, found.labels)];
  const canOpen = app.source.live && app.has("trellis") && app.about.columns === 1;
  return [number, h("span", { class: "error-words" }, one.tokens.map((token, i) => {
    const wrong = one.gold[i] >= 0 && one.gold[i] !== one.guess[i];
    if (!wrong) return h("span", { class: one.unseen.includes(i) ? "word new" : "word" }, token, " ");
    return h("span", { class: `word wrong${wanted(one, i) ? "" : " dim"}` }, h("span", { class: "unseen" }, `wrong: `), h("span", { class: one.unseen.includes(i) ? "new" : "" }, token),
      h("small", {}, h("span", { class: "right" }, found.labels[one.gold[i]]), h("span", { class: "said" }, found.labels[one.guess[i]])));
  })), canOpen ? h("button", { class: "quiet open", on: { click: () => app.open("search", { tokens: one.tokens }) } }, "Search") : null];
}
