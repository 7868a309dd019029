// View 7: correct and learn again. The server picks the sentences most worth annotating, keeps every correction on its
// disk before it says so, and trains anew in the background. Until then the browser keeps a draft of its own.

import { h, replace, heading, problem, section, select } from "./dom.js";
import { counted, percent, fixed } from "./format.js";
import { Annotation } from "./annotate.js";
import { lineChart } from "./chart.js";

const POLL = 700;

export function correctView(app) {
  const state = { list: [], at: 0, saved: new Set(), by: "confidence", n: 20, corrections: null, training: null };
  const base = `models/${encodeURIComponent(app.model)}`;
  const drafts = new Drafts(app.model);
  const message = h("p", { class: "note", role: "status" }), picking = h("div", {}), work = h("div", {}), learning = h("div", {});
  const pool = app.files().includes("pool");
  const texts = h("textarea", { rows: 3, id: "texts", placeholder: "Sentences of your own, one per line" });
  let timer = 0;
  app.leave = () => clearTimeout(timer);

  async function pick() {
    replace(message, "Choosing sentences\u2026");
    const own = texts.value.split("\n").map((line) => line.trim()).filter(Boolean);
    try {
      const found = await app.source.json(`${base}/pick`, { n: state.n, by: state.by, ...(own.length ? { texts: own } : {}) });
      [state.list, state.at] = [found.sentences, 0];
      replace(message, found.sentences.length ? `The ${counted(found.sentences.length, "sentence")} most worth annotating of ${found.pool ?? "all"}, the most uncertain first.` : "There is no sentence left to choose.");
      draw();
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
    const columns = sentence.columns ?? sentence.tokens.map((token) => [token]);
    const draft = drafts.get(sentence.id);
    const save = async () => {
      const labels = state.editor.checked;
      if (labels.every((label) => label === null)) {
        replace(note, "Nothing is checked yet: Enter says that a label is right.");
        return;
      }
      replace(note, "Saving\u2026");
      try {
        const answer = await app.source.json(`${base}/corrections`, { corrections: [{ id: sentence.id, tokens: columns.map((row) => (row.length > 1 ? row : row[0])), labels }] });
        state.saved.add(sentence.id);
        state.corrections = answer.corrections;
        drafts.remove(sentence.id);
        app.say(`Saved on the disk of the server: ${counted(answer.corrections, "corrected sentence")}.`);
        if (state.at < state.list.length - 1) state.at += 1;
        drawLearning();
        draw();
        state.editor.tokens.focus();
      } catch (error) {
        replace(note, problem(error), "Your labels are kept in this browser; save them again when the server is back.");
      }
    };
    const note = h("p", { class: "note", role: "status" });
    state.editor = new Annotation({ tokens: columns.map((row) => row[0]), labels: sentence.labels, checked: draft?.length === columns.length ? draft : null }, {
      labels: app.about.labels, save,
      ask: (allowed) => app.view("marginals", { rows: columns, allowed, lenient: true }),
      draft: (labels) => drafts.put(sentence.id, labels),
    });
    const go = (by) => {
      state.at = Math.min(state.list.length - 1, Math.max(0, state.at + by));
      draw();
      state.editor.tokens.focus();
    };
    replace(work, section(`Sentence ${state.at + 1} of ${state.list.length}`, `uncertainty ${fixed(sentence.uncertainty, 2)}${state.saved.has(sentence.id) ? " \u00b7 \u2713 saved" : draft ? " \u00b7 draft in this browser" : ""}`,
      state.editor.node,
      h("div", { class: "controls" }, h("button", { class: "main save", on: { click: save } }, "Save"), h("button", { on: { click: () => (state.editor.all(), save()) } }, "All are right"), h("button", { class: "quiet", disabled: state.at === 0, on: { click: () => go(-1) } }, "Back"), h("button", { class: "quiet", disabled: state.at === state.list.length - 1, on: { click: () => go(1) } }, "Skip")), note,
      h("p", { class: "note keys" }, ...keys())),
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
    const can = app.files().includes("train");
    const dev = (found?.log ?? []).filter((row) => typeof row.dev === "number").map((row) => [row.number ?? row.pass, row.dev]);
    replace(learning, section("Learn again", can ? "Trains on the training data and all corrections, in the background." : "Start the server with --train FILE (and --dev FILE) to train again from here.",
      h("ul", { class: "figures" }, h("li", {}, h("b", { class: "corrections" }, state.corrections ?? "\u2013"), h("span", {}, "corrected sentences, on the disk")),
        typeof found?.before === "number" ? h("li", {}, h("b", {}, percent(found.before, 2)), h("span", {}, `dev ${found.measure ?? "score"} before`)) : null,
        typeof found?.after === "number" ? h("li", { class: found.after >= found.before ? "up" : "down" }, h("b", { class: "after" }, percent(found.after, 2)), h("span", {}, `after (${found.after >= found.before ? "+" : "\u2212"}${fixed(100 * Math.abs(found.after - found.before), 2)} points)`)) : null),
      h("div", { class: "controls" }, h("button", { class: "retrain", disabled: !can || running || !state.corrections, on: { click: retrain } }, running ? "Training\u2026" : "Train again"),
        running ? h("button", { class: "quiet", on: { click: () => app.source.json(`${base}/retrain`, undefined, "DELETE").then(watch) } }, "Stop") : null,
        found && found.state !== "idle" ? h("span", { class: "note", role: "status" }, told(found)) : null),
      dev.length > 1 ? h("figure", { class: "small-chart" }, lineChart({ lines: [{ name: "dev", kind: "first", points: dev }], unit: "pass", format: (value) => percent(value), label: "Score on the development data" })) : null));
  }

  replace(picking, h("div", { class: "controls" },
    select("Pick", [[10, "10 sentences"], [20, "20 sentences"], [50, "50 sentences"], [100, "100 sentences"]], state.n, (value) => (state.n = Number(value))),
    select("by", [["confidence", "least confidence"], ["margin", "smallest margin"], ["entropy", "largest entropy"]], state.by, (value) => (state.by = value)),
    h("button", { class: "main pick", on: { click: pick } }, "Pick")),
  h("details", { open: !pool }, h("summary", {}, pool ? "or choose among sentences of your own" : "The server has no --pool FILE: give sentences of your own"), h("label", { class: "unseen", for: "texts" }, "Sentences of your own"), texts), message);
  count().then(() => {
    watch();
    if (pool) pick(); // afterwards: nothing redraws a sentence that somebody works on
  });
  return h("article", {}, heading("Correct and learn again", "The sentences that the model is least sure of, and that are not like each other. Correct them; every saved one is on the disk at once."), picking, work, learning);
}

function told(found) {
  if (found.state === "failed") return `The training failed: ${found.error}`;
  if (found.state === "stopped") return "The training was stopped.";
  if (found.state === "running") return `${counted(found.log?.length ?? 0, "pass", "passes")}, ${fixed(found.seconds ?? 0, 1)} s`;
  return found.replaced ? "Done: the model was replaced." : "Done: the old model was kept.";
}

function keys() {
  const list = [["Enter", "is right"], ["1\u20136", "another label"], ["letters", "search a label"], ["\u2190 \u2192", "move"], ["Backspace", "unknown"], ["Ctrl Enter", "save"], ["Shift Enter", "all are right, save"]];
  return list.map(([key, what]) => h("span", {}, h("kbd", {}, key), ` ${what}`));
}

// What is not saved yet, in this browser.
class Drafts {
  constructor(model) {
    this.name = `palmette-draft-${model}-`;
  }

  get(id) {
    try {
      return JSON.parse(localStorage.getItem(this.name + id));
    } catch {
      return null;
    }
  }

  put(id, labels) {
    localStorage.setItem(this.name + id, JSON.stringify(labels));
  }

  remove(id) {
    localStorage.removeItem(this.name + id);
  }
}
