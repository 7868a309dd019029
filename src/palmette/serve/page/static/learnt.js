// View 6: what it learnt. Strongest weights by label with a search box, transitions as a heat map, learning curves.

import { h, replace, heading, problem, section, debounced, latest } from "./dom.js";
import { fixed, percent, signed, whole, counted } from "./format.js";
import { inWords } from "./names.js";
import { heatMap } from "./heat.js";
import { lineChart, weightBars } from "./chart.js";

const MOST_SHOWN = 24;

export function learntView(app) {
  const parts = { curves: h("div", {}), weights: h("div", {}), transitions: h("div", {}) };
  const load = async (name, draw) => {
    if (!app.has(name)) return;
    try {
      replace(parts[name], draw(await app.view(name)));
    } catch (error) {
      replace(parts[name], problem(error));
    }
  };
  load("curves", curves);
  load("weights", (found) => weights(app, found));
  load("transitions", transitions);
  return h("article", {}, heading("What it learnt", about(app.about)), parts.curves, parts.weights, parts.transitions);
}

function about(found) {
  const told = found.components ? [`components: ${found.components.join(", ")}`] : [`learner: ${found.learner}`];
  if (found.labels) told.push(counted(found.labels.length, "label"));
  if (found.attributes) told.push(`${whole(found.attributes)} attributes`);
  if (found.weights) told.push(`${whole(found.weights)} weights that are not zero`);
  return told.join(" \u00b7 ");
}

export function curves(found) {
  if (!found.rows.length) return null;
  const at = (name) => found.rows.filter((row) => (row[name] ?? row.figures?.[name] ?? null) !== null).map((row) => [row.number, row[name] ?? row.figures[name]]);
  const charts = [lineChart({
    lines: [{ name: "dev", kind: "first", points: at("dev") }, { name: "train", kind: "second", points: at("train_accuracy") }],
    unit: found.unit, format: (value) => percent(value), mark: found.best, label: "Scores by pass",
  })];
  const objective = at("objective");
  const work = objective.length > 1
    ? { name: "objective", points: objective, format: (value) => (value >= 1e4 ? `${fixed(value / 1000, 1)}k` : fixed(value, 0)) }
    : { name: "updates", points: at("updates"), format: (value) => whole(Math.round(value)) };
  if (work.points.length > 1) charts.push(lineChart({ lines: [{ name: work.name, kind: "third", points: work.points }], unit: found.unit, format: work.format, label: work.name }));
  const bad = at("bad");
  if (bad.length > 1) charts.push(lineChart({ lines: [{ name: "bad updates", kind: "second", points: bad }], unit: found.unit, format: (value) => percent(value, 0), label: "Share of bad updates" }));
  const note = found.ended ? `${found.ended[0].toUpperCase()}${found.ended.slice(1)}.` : found.running ? "Training is running." : null;
  return section("Learning curves", note, h("div", { class: "columns charts" }, charts.map((chart) => h("figure", {}, chart))));
}

function weights(app, found) {
  const most = Math.max(...Object.values(found.top).flat().map((row) => Math.abs(row.weight)), 1e-9);
  const cards = h("div", { class: "columns weights-columns" });
  const draw = (labels) => replace(cards, labels.slice(0, MOST_SHOWN).map((label) => h("section", { class: "weight-card" }, h("h3", {}, label), weightBars(found.top[label], most))),
    labels.length > MOST_SHOWN ? h("p", { class: "note" }, `and ${labels.length - MOST_SHOWN} more labels: search for one`) : null);
  const show = latest((text) => ask(app, found, text), (result) => (result === null ? draw(found.labels) : drawFound(cards, result, draw)), (error) => replace(cards, problem(error)));
  draw(found.labels);
  return section("Strongest weights", "Blue speaks for the label, orange against it. All bars have one scale.",
    h("form", { class: "controls", role: "search", on: { submit: (event) => event.preventDefault() } },
      h("input", { type: "search", class: "wide-field", "aria-label": "Search labels and attributes", placeholder: "Search a label, a word, a suffix\u2026", on: { input: debounced((event) => show(event.target.value.trim()), 200) } })),
    cards);
}

// Labels by name; else attributes of the model that have the text, or, of a file, those that it has.
async function ask(app, found, text) {
  if (!text) return null;
  const labels = found.labels.filter((label) => label.toLowerCase() === text.toLowerCase());
  if (labels.length) return { labels };
  if (app.source.live) return app.view("weights", { search: text, top: 40 });
  const attributes = new Map();
  for (const [label, rows] of Object.entries(found.top)) {
    for (const row of rows) {
      if (!`${row.name} ${row.attribute}`.toLowerCase().includes(text.toLowerCase())) continue;
      if (!attributes.has(row.attribute)) attributes.set(row.attribute, { attribute: row.attribute, name: row.name, weights: [] });
      attributes.get(row.attribute).weights.push({ label, weight: row.weight });
    }
  }
  return { matches: attributes.size, attributes: [...attributes.values()] };
}

function drawFound(cards, result, draw) {
  if (result.labels) return draw(result.labels);
  if (!result.attributes.length) return replace(cards, h("p", { class: "empty" }, "No attribute of the model has this text."));
  const most = Math.max(...result.attributes.flatMap((one) => one.weights.map((row) => Math.abs(row.weight))), 1e-9);
  return replace(cards, h("p", { class: "note found" }, `${counted(result.matches, "attribute")}${result.matches > result.attributes.length ? `; the ${result.attributes.length} strongest` : ""}`),
    result.attributes.map((one) => h("section", { class: "weight-card" }, h("h3", { title: inWords(one.name) ?? one.attribute }, one.name), one.weights.length ? weightBars(one.weights.slice(0, 6), most) : h("p", { class: "note" }, "all its weights are zero"))));
}

function transitions(found) {
  const values = found.weights.flat().filter((value) => value !== null);
  const top = Math.max(1e-9, ...values.map(Math.abs));
  const size = found.states.length > 30 ? 16 : found.states.length > 18 ? 24 : 34;
  return section("Transitions", "From the row to the column. Blue: likes to follow; orange: does not; hatched: forbidden.",
    heatMap({
      rows: found.states, columns: found.states, size, kind: "both", slanted: true,
      value: (r, c) => found.weights[r][c], shade: (value) => Math.sign(value) * Math.sqrt(Math.abs(value) / top),
      text: (value) => (size >= 34 && Math.abs(value) >= 0.05 ? fixed(value, 1) : ""),
      told: (r, c, value) => `${found.states[r]} > ${found.states[c]}: ${value === null ? "forbidden" : signed(value)}`,
      label: "Weights of transitions", corner: "",
    }));
}
