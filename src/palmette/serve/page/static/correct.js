// View 7: correct and learn again. The server picks the sentences most worth annotating, keeps every correction on its
// disk before it says so, and trains anew in the background. Until then the browser keeps a draft of its own.

import { h, replace, heading, problem, section, select } from "./dom.js";
import { counted, percent, fixed } from "./format.js";
import { Annotation, LABEL_KEYS } from "./annotate.js";
import { SpanEditor, SPAN_KEYS } from "./annotate_spans.js";
import { TreeEditor, TREE_KEYS } from "./annotate_tree.js";
import { ClassEditor, CLASS_KEYS } from "./annotate_class.js";
import { Drafts } from "./drafts.js";
import { lineChart } from "./chart.js";

const POLL = 700, FEW = 20;

export function correctView(app) {
  const why = refused(app);
  if (why) return h("article", {}, heading("Correct and learn again", "Not for this model."), h("p", { class: "empty" }, why));
  const kind = app.about.types?.length ? KINDS.spans : KINDS[app.about.kind];
  const state = { list: [], at: 0, saved: new Set(), by: app.about.beam ? "margin" : kind.measures[0][0], n: 20, corrections: null, training: null };
  const base = `models/${encodeURIComponent(app.model)}`;
  const drafts = new Drafts(app.model);
  const message = h("p", { class: "note", role: "status" }), picking = h("div", {}), work = h("div", {}), learning = h("div", {});
  const pool = app.files().includes("pool");
  const texts = h("textarea", { rows: 3, id: "texts", placeholder: "Sentences of your own, one per line" });
  let timer = 0;
  app.leave = () => clearTimeout(timer);

  async function pick(focus) {
    replace(message, "Choosing sentences\u2026");
    const own = texts.value.split("\n").map((line) => line.trim()).filter(Boolean);
    try {
      const found = await app.source.json(`${base}/pick`, { n: state.n, by: state.by, ...(own.length ? { texts: own } : {}) });
      [state.list, state.at] = [found.sentences, 0];
      replace(message, found.sentences.length ? `The ${counted(found.sentences.length, "sentence")} most worth annotating of ${found.pool ?? "all"}, the most uncertain first.` : "There is no sentence left to choose.");
      draw();
      if (focus && state.list.length) state.editor.focus();
    } catch (error) {
      replace(message, problem(error));
    }
  }

  async function count() {
    try {
      const found = await app.source.json(`${base}/corrections?limit=1000`);
      state.corrections = found.total;
      for (const one of found.corrections) state.saved.add(one.id);
      drawLearning();
    } catch (error) {
      replace(learning, problem(error));
    }
  }

  function draw() {
    if (!state.list.length) return replace(work);
    const sentence = state.list[state.at];
    const columns = sentence.columns ?? sentence.words ?? sentence.tokens.map((token) => [token]);
    const draft = drafts.get(sentence.id);
    const save = async () => {
      const right = state.editor.value();
      if (right === null) {
        replace(note, state.editor.missing);
        return;
      }
      replace(note, "Saving\u2026");
      try {
        const answer = await app.source.json(`${base}/corrections`, { corrections: [{ id: sentence.id, tokens: columns.map((row) => (row.length === 1 && app.about.columns !== null ? row[0] : row)), ...right }] });
        state.saved.add(sentence.id);
        state.corrections = answer.corrections;
        drafts.remove(sentence.id);
        app.say(`Saved on the disk of the server: ${counted(answer.corrections, "corrected sentence")}.`);
        if (state.at < state.list.length - 1) state.at += 1;
        drawLearning();
        draw();
        state.editor.focus();
      } catch (error) {
        replace(note, problem(error), "Your labels are kept in this browser; save them again when the server is back.");
      }
    };
    const note = h("p", { class: "note", role: "status" });
    const go = (by) => {
      state.at = Math.min(state.list.length - 1, Math.max(0, state.at + by));
      draw();
      state.editor.focus();
    };
    state.editor = kind.editor(app, sentence, columns, { save, go, was: draft, draft: (value) => drafts.put(sentence.id, value), say: (text) => app.say(text, false) });
    replace(work, section(`Sentence ${state.at + 1} of ${state.list.length}`, `uncertainty ${fixed(sentence.uncertainty, 2)}${state.saved.has(sentence.id) ? " \u00b7 \u2713 saved" : draft ? " \u00b7 draft in this browser" : ""}`,
      state.editor.node,
      h("div", { class: "controls" }, kind.save ? h("button", { class: "main save", on: { click: save } }, kind.save) : null, kind.right ? h("button", { class: kind.save ? "" : "main", on: { click: () => (state.editor.all(), save()) } }, kind.right) : null, h("button", { class: "quiet", disabled: state.at === 0, on: { click: () => go(-1) } }, "Back"), h("button", { class: "quiet", disabled: state.at === state.list.length - 1, on: { click: () => go(1) } }, "Skip")), note,
      h("p", { class: "note keys" }, ...keys(kind.keys))),
    h("ol", { class: "progress", "aria-label": "Sentences" }, state.list.map((one, k) => h("li", { class: `${k === state.at ? "now" : ""}${state.saved.has(one.id) ? " saved" : ""}`, title: `sentence ${k + 1}${state.saved.has(one.id) ? ", saved" : ""}` }))));
  }

  async function retrain() {
    try {
      await app.source.json(`${base}/retrain`, {});
      watch();
    } catch (error) {
      replace(learning, problem(error));
    }
  }

  async function download() {
    try {
      const { name, data } = await app.source.file(`${base}/corrections/file`);
      const link = h("a", { href: URL.createObjectURL(data), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      replace(message, problem(error));
    }
  }

  async function watch() {
    try {
      state.training = await app.source.json(`${base}/retrain`);
    } catch (error) {
      replace(learning, problem(error));
      return;
    }
    drawLearning();
    if (state.training.state === "running") timer = setTimeout(watch, POLL);
    else if (state.training.replaced) app.say("The model was replaced: all views show the new one.");
  }

  function drawLearning() {
    const found = state.training, running = found?.state === "running";
    const { untrainable } = app.described(), can = app.files().includes("train") && !untrainable;
    const dev = (found?.log ?? []).filter((row) => typeof row.dev === "number").map((row) => [row.number ?? row.pass, row.dev]);
    replace(learning, section("Learn again", can ? "Trains on from the weights of the model, with the training data and all corrections, in the background." : (untrainable ?? "Start the server with --train FILE (and --dev FILE) to train again from here."),
      h("ul", { class: "figures" }, h("li", {}, h("b", { class: "corrections" }, state.corrections ?? "\u2013"), h("span", {}, "corrected sentences, on the disk")),
        typeof found?.before === "number" ? h("li", {}, h("b", {}, percent(found.before, 2)), h("span", {}, `dev ${found.measure ?? "score"} before`), range(found.before_interval)) : null,
        typeof found?.after === "number" ? h("li", { class: found.within_noise ? "" : found.after >= found.before ? "up" : "down" }, h("b", { class: "after" }, percent(found.after, 2)), h("span", {}, `after (${difference(found)})`), range(found.after_interval)) : null),
      state.corrections && state.corrections < FEW ? h("p", { class: "caution", role: "note" }, `${counted(state.corrections, "correction")}: with fewer than ${FEW}, the score on the development data says little about whether they help.`) : null,
      h("div", { class: "controls" }, h("button", { class: "retrain", disabled: !can || running || !state.corrections, on: { click: retrain } }, running ? "Training\u2026" : "Train again"),
        running ? h("button", { class: "quiet", on: { click: () => app.source.json(`${base}/retrain`, undefined, "DELETE").then(watch) } }, "Stop") : null,
        h("button", { class: "quiet", disabled: !state.corrections, on: { click: download } }, "Download the corrections"),
        found && found.state !== "idle" ? h("span", { class: "note", role: "status" }, told(found)) : null),
      dev.length > 1 ? h("figure", { class: "small-chart" }, lineChart({ lines: [{ name: "dev", kind: "first", points: dev }], unit: "pass", format: (value) => percent(value), label: "Score on the development data" })) : null));
  }

  replace(picking, h("div", { class: "controls" },
    select("Pick", [[10, "10 sentences"], [20, "20 sentences"], [50, "50 sentences"], [100, "100 sentences"]], state.n, (value) => (state.n = Number(value))),
    select("by", kind.measures, state.by, (value) => (state.by = value)),
    h("button", { class: "main pick", on: { click: () => pick(true) } }, "Pick")),
  h("details", { open: !pool }, h("summary", {}, pool ? "or choose among sentences of your own" : "The server has no --pool FILE: give sentences of your own"), h("label", { class: "unseen", for: "texts" }, "Sentences of your own"), texts), message);
  if (app.described().text === false && app.about.kind !== "parser") {
    picking.querySelector("details").remove();
    if (!pool) replace(message, "This model does not read plain text, and the server has no sentences to choose from: start it with --pool FILE, a file like the training data.");
  }
  count().then(() => {
    watch();
    if (pool) pick(false); // afterwards: nothing redraws a sentence that somebody works on
  });
  return h("article", {}, heading("Correct and learn again", kind.lead), picking, work, learning);
}

function told(found) {
  if (found.state === "failed") return `The training failed: ${found.error}`;
  if (found.state === "stopped") return "The training was stopped.";
  if (found.state === "running") return `${counted(found.log?.length ?? 0, "pass", "passes")}, ${fixed(found.seconds ?? 0, 1)} s`;
  const how = found.continued ? ", trained on from its weights" : "";
  return found.replaced ? `Done: the model was replaced${how}.` : "Done: the old model was kept.";
}

// The change of the score in words, and whether that could be chance.
function difference(found) {
  const change = found.after - found.before, written = `${change >= 0 ? "+" : "\u2212"}${fixed(100 * Math.abs(change), 2)} points`;
  if (!found.difference_interval) return written;
  return `${written}, ${found.within_noise ? "within noise" : "more than noise"}: ${found.difference_interval.map((end) => fixed(100 * end, 2)).join(" to ")}`;
}

function range(interval) {
  return interval ? h("span", {}, `95%: ${percent(interval[0])} to ${percent(interval[1])}`) : null;
}

function keys(list) {
  return list.map(([key, what]) => h("span", {}, h("kbd", {}, key), ` ${what}`));
}

// What a kind of model is corrected with: an editor, its keys, the measures of uncertainty, and what is said above.
const KINDS = {
  tagger: {
    keys: LABEL_KEYS, measures: [["confidence", "least confidence"], ["margin", "smallest margin"], ["entropy", "largest entropy"]],
    lead: "The sentences that the model is least sure of, and that are not like each other. Correct them; every saved one is on the disk at once.", save: "Save", right: "All are right",
    editor: (app, sentence, columns, options) => new Annotation({ tokens: sentence.tokens, labels: sentence.labels, checked: options.was?.labels?.length === columns.length ? options.was.labels : null }, {
      ...options, labels: app.about.labels, ask: (allowed) => app.view("marginals", { ...(app.about.columns === null ? { items: columns } : { rows: columns }), allowed, lenient: true }),
    }),
  },
  spans: {
    keys: SPAN_KEYS, measures: [["confidence", "least confidence"], ["margin", "smallest margin"], ["entropy", "largest entropy"]],
    lead: "The sentences that the model is least sure of, and that are not like each other. Select words and press the key of a type; a saved sentence is right as a whole, and on the disk at once.", save: "Save",
    editor: (app, sentence, columns, options) => new SpanEditor(sentence, { ...options, types: app.about.types }),
  },
  parser: {
    keys: TREE_KEYS, measures: [["margin", "smallest margin"]],
    lead: "The sentences whose best tree is hardly better than the next one, and that are not like each other. A parser learns from whole trees: look at every word, then save the tree.", save: "Save the tree",
    editor: (app, sentence, columns, options) => new TreeEditor({ ...sentence, tags: sentence.words.map((word) => word.upos ?? word.xpos ?? ""), draft: options.was }, {
      ...options, relations: app.about.relations.filter((name) => !name.includes("\u2191")), root: sentence.relations[sentence.heads.indexOf(0)] ?? "root", ask: () => app.view("tree", { words: sentence.words }),
    }),
  },
  classifier: {
    keys: CLASS_KEYS, measures: [["margin", "score nearest to 0"]],
    lead: "The sentences that are nearest to the border of the two classes, and that are not like each other. Say which class is right; every saved one is on the disk at once.", right: "The guess is right",
    editor: (app, sentence, columns, options) => new ClassEditor({ ...sentence, draft: options.was }, { ...options, classes: app.about.classes }),
  },
};

// Why a model cannot be corrected, where it cannot.
function refused(app) {
  const model = app.described();
  if (model.uncorrectable) return model.uncorrectable;
  if (!KINDS[app.about.kind]) return `${app.model} is a ${app.about.kind}, which cannot be corrected here.`;
  if (app.about.kind === "tagger" && !app.has("marginals")) return `${app.model} reads its own earlier labels, so that it cannot say how sure it is of one, nor what fixing a label would change. Correct the training data itself: palmette check finds doubtful labels.`;
  return null;
}
