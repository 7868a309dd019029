// The frame of the page: which model, which view, which sentence. Views are functions of the app to an element.

import { h, replace, problem } from "./dom.js";
import { themeButton } from "./theme.js";
import { openSource } from "./source.js";
import { Sentences } from "./sentence_bar.js";
import { resultView } from "./result.js";
import { searchView } from "./search.js";
import { whyView } from "./why.js";
import { sureView } from "./sure.js";
import { treeView } from "./tree.js";
import { classView } from "./class.js";
import { errorsView } from "./errors.js";
import { learntView } from "./learnt.js";
import { correctView } from "./correct.js";
import { trainingView } from "./training.js";
import { typedView } from "./typed.js";

const VIEWS = [
  { key: "result", name: "Result", needs: "result", make: resultView },
  { key: "type", name: "Type", needs: "typed", make: typedView },
  { key: "search", name: "Search", needs: "trellis", make: searchView },
  { key: "why", name: "Why", needs: "explanation", make: whyView },
  { key: "sure", name: "How sure", needs: "marginals", make: sureView },
  { key: "tree", name: "Tree", needs: "tree", make: treeView },
  { key: "class", name: "Class", needs: "class", make: classView },
  { key: "errors", name: "Errors", needs: "errors", make: errorsView },
  { key: "learnt", name: "What it learnt", needs: ["weights", "curves"], make: learntView },
  { key: "correct", name: "Correct", needs: null, live: true, make: correctView },
];

class App {
  constructor() {
    this.source = openSource();
    this.sentences = new Sentences(this.source);
    this.main = h("main", { id: "main", tabindex: -1 });
    this.status = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.nav = h("nav", { "aria-label": "Views" });
    this.about = null;
    this.tools = h("div", { class: "tools" });
    document.body.append(
      h("a", { class: "skip", href: "#main", on: { click: (event) => (event.preventDefault(), this.main.focus()) } }, "Skip to the view"),
      h("header", { class: "top" }, h("div", { class: "brand" }, mark(), h("span", {}, "Palmette")), this.tools), this.nav, this.main, this.status);
    window.addEventListener("hashchange", () => this.show());
    this.start();
  }

  async start() {
    try {
      this.models = await this.source.models();
    } catch (error) {
      replace(this.main, problem(error), error.unauthorised ? this.tokenForm() : null);
      return;
    }
    const training = this.models.length ? null : await this.source.training?.(0);
    if (training) {
      replace(this.tools, themeButton());
      replace(this.main, trainingView(this, training));
      return;
    }
    if (!this.models.length) {
      replace(this.main, problem(new Error("There is no model to show.")));
      return;
    }
    await this.choose(wanted().get("model") ?? this.models[0].name);
  }

  tokenForm() {
    const field = h("input", { type: "password", id: "token", autocomplete: "off" });
    return h("form", { class: "sentence", on: { submit: (event) => (event.preventDefault(), this.source.authorise(field.value), this.start()) } },
      h("label", { for: "token" }, "Token"), field, h("button", {}, "Enter"));
  }

  async choose(name) {
    this.model = this.models.some((one) => one.name === name) ? name : this.models[0].name;
    try {
      this.about = await this.view("about", {});
    } catch (error) {
      replace(this.main, problem(error), error.unauthorised ? this.tokenForm() : null);
      return;
    }
    this.sentences.choose(this.model, this.about);
    replace(this.tools, this.chooser(), this.source.live ? h("a", { href: "docs" }, "API") : null, themeButton());
    this.show();
  }

  chooser() {
    if (this.models.length < 2) return h("span", { class: "model" }, this.model);
    return h("div", { class: "model" },
      h("select", { "aria-label": "Model", on: { change: (event) => this.choose(event.target.value) } },
        this.models.map((one) => h("option", { value: one.name, selected: one.name === this.model }, one.name))));
  }

  available() {
    const views = new Set(this.about.views);
    return VIEWS.filter((view) => (view.needs === null || [view.needs].flat().some((need) => views.has(need))) && (!view.live || this.source.live));
  }

  show() {
    if (!this.about) return;
    const views = this.available();
    const key = location.hash.replace(/^#\/?/, "").split("?")[0];
    const view = views.find((one) => one.key === key) ?? views[0];
    replace(this.nav, h("ul", {}, views.map((one) => h("li", {}, h("a", { href: `#/${one.key}`, "aria-current": one === view ? "page" : null }, one.name)))));
    this.nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.sentences.listeners = [];
    this.leave?.();
    this.leave = null;
    if (!view) {
      replace(this.main, h("p", { class: "lead" }, `The page has no view of a ${this.about.kind} yet.`));
      return;
    }
    document.title = `${view.name} \u00b7 ${this.model} \u00b7 Palmette`;
    replace(this.main, view.make(this));
    this.place = null; // it was for this view alone
  }

  view(name, request = {}) {
    return this.source.view(this.model, name, request);
  }

  has(view) {
    return this.about.views.includes(view);
  }

  // What the server says about the model.
  described() {
    return this.models.find((one) => one.name === this.model) ?? {};
  }

  // The files that the server was started with: train, dev, test, pool.
  files() {
    return this.described().files ?? [];
  }

  sentence() {
    return this.sentences.asked();
  }

  noSentence() {
    return h("p", { class: "lead" }, this.source.live ? "Type or paste a text above." : "This file has no sentences.");
  }

  sentenceBar() {
    return this.sentences.bar();
  }

  // Where the view that is opened now should look first.
  takePlace() {
    return this.place ?? {};
  }

  onSentence(act) {
    this.sentences.listeners.push(act);
  }

  // Look at a sentence in another view, at a `token` or a `word` of it if that is given.
  open(view, request, place = {}) {
    this.sentences.set(request);
    this.place = place;
    if (location.hash === `#/${view}`) this.show();
    else location.hash = `#/${view}`;
  }

  // Tell something to screen readers, and unless the picture shows it, to all.
  say(text, shown = true) {
    this.status.textContent = text;
    this.status.classList.toggle("shown", shown);
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.status.classList.toggle("shown", false), 5000);
  }
}

function wanted() {
  return new URLSearchParams(location.hash.split("?")[1] ?? "");
}

function mark() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.setAttribute("aria-hidden", "true");
  for (const [tag, attributes] of [
    ["path", { class: "stem", d: "M16 29V12M16 29C9 26 5 20 5 13M16 29c7-3 11-9 11-16M16 29C12 24 10 17 11 8M16 29c4-5 6-12 5-21" }],
    ...[[16, 7, 3], [5, 11, 2.4], [27, 11, 2.4], [10.6, 6, 2], [21.4, 6, 2]].map(([cx, cy, r]) => ["circle", { cx, cy, r }]),
  ]) {
    const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    svg.append(one);
  }
  return svg;
}

new App();
