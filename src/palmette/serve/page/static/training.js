// A training that is running: its curves, as they grow.

import { h, replace, heading } from "./dom.js";
import { counted, percent, fixed } from "./format.js";
import { curves } from "./learnt.js";

const POLL = 400;

export function trainingView(app, first) {
  const rows = [], body = h("div", {}), status = h("p", { class: "summary", role: "status" });
  let timer = 0;

  function add(found) {
    rows.push(...found.records.map((row) => ({ ...row, number: row.number ?? row.pass })));
    const last = rows.at(-1), dev = rows.filter((row) => typeof row.dev === "number");
    const best = dev.reduce((top, row) => (top === null || row.dev > top.dev ? row : top), null);
    const unit = last?.figures && "gradient" in last.figures ? "iteration" : "pass";
    const told = [found.finished ? "Ended after " : "Running: ", h("b", {}, counted(rows.length, unit, unit === "pass" ? "passes" : "iterations"))];
    if (best) told.push(", best on the development data ", h("b", {}, percent(best.dev, 2)), ` (${unit} ${best.number})`);
    if (last?.seconds) told.push(`, ${fixed(last.seconds, 2)} s each`);
    replace(status, ...told, ".");
    replace(body, rows.length > 1 ? curves({ unit, rows, best: best?.number ?? null, running: !found.finished, ended: found.finished ? (found.outcome?.ended ?? "the training has ended") : null }) : h("p", { class: "empty" }, "The curves begin with the second pass."));
    return found.finished;
  }

  async function watch(after) {
    const found = await app.source.training(after);
    if (!found) {
      replace(status, "The training has ended, and its server with it. What is here stays until the page is closed.");
      return;
    }
    if (found.records.length || found.finished) add(found);
    if (!found.finished) timer = setTimeout(() => watch(found.next), POLL);
  }

  app.leave = () => clearTimeout(timer);
  if (!add(first)) timer = setTimeout(() => watch(first.next), POLL);
  return h("article", {}, heading("Training", [first.about?.data, first.about?.output].filter(Boolean).join(" \u2192 ")), status, body);
}
