// View 4: a tree as arcs, and the search for it as a film: stack, buffer, beam.

import { h, replace, heading, problem, latest, section, select } from "./dom.js";
import { fixed, counted } from "./format.js";
import { arcsPicture, levels } from "./arcs.js";
import { waterfall } from "./bars.js";

const NAMES = { start: "start", shift: "shift", left: "left arc", right: "right arc" };

export function treeView(app) {
  const state = { step: 0, playing: 0, beam: "", rival: 0, word: app.takePlace().word };
  const body = h("div", {});
  const stop = () => {
    clearInterval(state.playing);
    state.playing = 0;
  };
  const ask = latest((request) => app.view("tree", request), (found) => {
    [state.found, state.step, state.rival] = [found, found.film.length - 1, 0];
    found.height = Math.max(0, ...levels(found.heads).values()); // so that pictures of the film do not jump
    draw();
    if (state.word !== undefined) queueMicrotask(() => (whyArc(state.word), (state.word = undefined)));
  }, (error) => replace(body, problem(error)));
  const load = () => {
    stop();
    const request = app.sentence();
    return request ? ask({ ...request, ...(state.beam ? { beam: Number(state.beam) } : {}) }) : replace(body, app.noSentence());
  };

  function draw() {
    const { found } = state;
    replace(body, lacking(found), tree(found), film(found));
  }

  function tree(found) {
    const rival = found.rivals[state.rival], best = { heads: found.heads, relations: found.relations };
    const differs = (k) => rival && (rival.heads[k] !== best.heads[k] || rival.relations[k] !== best.relations[k]);
    const shown = state.rival ? { ...rival, kind: (k) => (differs(k) ? "said" : "") } : best;
    return h("div", {}, h("div", { class: "scroll arcs-frame" }, arcsPicture({ words: found.tokens, tags: found.tags, above: shown, ask: state.rival ? null : whyArc })),
      found.rivals.length > 1 ? h("ul", { class: "chips", "aria-label": "The best trees" }, found.rivals.map((one, k) =>
        h("li", {}, h("button", { class: "chip", "aria-pressed": String(k === state.rival), on: { click: () => ((state.rival = k), draw()) } }, k ? `${k + 1}.` : "best", h("small", {}, k ? `${fixed(found.rivals[0].score - one.score, 1)} behind` : `score ${fixed(one.score, 1)}`))))) : null);
  }

  // The step that made the arc to a word.
  function whyArc(word) {
    const step = state.found.film.findIndex((scene) => scene.winner.arc?.child === word);
    if (step > 0) {
      stop();
      state.go(step);
      body.querySelector(".film-why")?.scrollIntoView({ block: "center", behavior: "smooth" });
    }
  }

  function film(found) {
    const last = found.film.length - 1;
    const go = (step) => {
      state.step = Math.min(last, Math.max(0, step));
      if (state.step === last) stop();
      replace(frame, still(found, state.step));
      slider.value = state.step;
      play.textContent = state.playing ? "Pause" : "Play";
      slider.setAttribute("aria-valuetext", `step ${state.step}: ${told(found, found.film[state.step])}`);
    };
    const slider = h("input", { type: "range", min: 0, max: last, step: 1, value: state.step, "aria-label": "Step of the search", on: { input: (event) => (stop(), go(Number(event.target.value))) } });
    const play = h("button", { class: "main play", on: { click: () => {
      if (state.playing) stop();
      else {
        if (state.step === last) state.step = 0;
        state.playing = setInterval(() => go(state.step + 1), 700);
      }
      go(state.step);
    } } }, "Play");
    const frame = h("div", { class: "film" });
    app.leave = stop;
    state.go = go;
    queueMicrotask(() => go(state.step));
    return section("The search as a film", `${counted(last, "action")} make the tree. A beam keeps several states at a time; the one that wins in the end is marked.${found.merged ? " This parser merges equal states; the film shows its search without that." : ""}`,
      h("div", { class: "controls" }, h("button", { "aria-label": "One step back", on: { click: () => (stop(), go(state.step - 1)) } }, "\u2190"), play, h("button", { "aria-label": "One step on", on: { click: () => (stop(), go(state.step + 1)) } }, "\u2192"), slider,
        app.source.live ? select("Beam", [["", "as trained"], ["1", "1"], ["2", "2"], ["4", "4"], ["8", "8"], ["16", "16"]], state.beam, (value) => ((state.beam = value), load())) : null), frame);
  }

  function still(found, step) {
    const scene = found.film[step], item = scene.winner, n = found.tokens.length;
    const heads = Array(n).fill(-1), relations = Array(n).fill("");
    let newest = -1;
    for (let k = 0; k <= step; k += 1) {
      const { arc } = found.film[k].winner;
      if (arc) {
        [heads[arc.child], relations[arc.child]] = [arc.head + 1, arc.relation];
        newest = k === step ? arc.child : -1;
      }
    }
    const tile = (k, kind) => h("li", { class: `tile ${kind}` }, found.tokens[k]);
    const buffer = Array.from({ length: n - item.next }, (_, k) => item.next + k);
    return [
      h("p", { class: "film-action", role: "status" }, h("b", {}, `Step ${step}. `), told(found, scene)),
      h("div", { class: "scroll arcs-frame film-arcs" }, arcsPicture({ words: found.tokens, tags: found.tags, above: { heads, relations, kind: (k) => (k === newest ? "newest" : "") }, rows: found.height, mark: (k) => (item.stack.includes(k) ? "on-stack" : k >= item.next ? "waiting" : "done") })),
      h("div", { class: "two film-two" },
        h("div", { class: "stacks" },
          h("div", {}, h("h3", {}, "Stack"), h("ol", { class: "tiles stack" }, item.stack.length ? item.stack.map((k, at) => tile(k, at >= item.stack.length - 2 ? "top" : "")) : h("li", { class: "note" }, "empty"))),
          h("div", {}, h("h3", {}, "Buffer"), h("ol", { class: "tiles buffer" }, buffer.length ? buffer.map((k) => tile(k, "")) : h("li", { class: "note" }, "empty")))),
        h("div", {}, h("h3", {}, `Beam: ${counted(scene.size, "state")}`), h("ol", { class: "beam" }, scene.items.map((one) =>
          h("li", { class: one.id === item.id ? "winner" : "" }, h("span", { class: "figure" }, fixed(one.score, 1)), h("span", {}, actionOf(found, one)), h("small", {}, one.stack.slice(-3).map((k) => found.tokens[k]).join(" ") || "\u2013"), one.id === item.id ? h("em", {}, "wins") : null))),
        scene.rank > 0 ? h("p", { class: "note" }, `The winner is only number ${scene.rank + 1} here: a narrower beam would lose it.`) : null)),
      why(found.why[step]),
    ];
  }

  function why(found) {
    if (!found) return null;
    const note = found.difference < 0 ? "Here the other action scores more; what follows makes up for it." : "What the templates of the parser say in this state.";
    return h("section", { class: "part film-why" }, h("h2", {}, `Why ${found.action}, and not ${found.other}?`), h("p", { class: "note" }, note), waterfall(found.parts.map((one) => ({ name: one.attribute, amount: one.amount })), found.difference, 10));
  }

  app.onSentence(load);
  load();
  return h("article", {}, heading("The tree", "Arcs go from a word to what depends on it. Click the name of one to see why it was made."), app.sentenceBar(), body);
}

// A parser that reads tags sees none in a typed sentence unless somebody makes them.
function lacking(found) {
  if (!found.lacks?.length) return null;
  const names = found.lacks.join(" and ");
  return h("p", { class: "caution", role: "note" }, h("strong", {}, "This tree may well be wrong. "), `The parser reads ${names}, which a typed sentence does not have. Start the server with a tagger that makes ${found.lacks.length > 1 ? "them" : "it"}: --with ${found.lacks[0]}=tagger.palm`);
}

function actionOf(found, item) {
  return item.arc ? `${NAMES[item.action]} ${item.arc.relation}` : NAMES[item.action];
}

function told(found, scene) {
  const { winner } = scene;
  if (winner.arc) return `${NAMES[winner.action][0].toUpperCase()}${NAMES[winner.action].slice(1)}: \u201c${found.tokens[winner.arc.child]}\u201d becomes the ${winner.arc.relation} of \u201c${found.tokens[winner.arc.head]}\u201d.`;
  if (winner.action === "shift") return `Shift: \u201c${found.tokens[winner.next - 1]}\u201d moves from the buffer to the stack.`;
  return "The stack is empty; all words wait in the buffer.";
}
