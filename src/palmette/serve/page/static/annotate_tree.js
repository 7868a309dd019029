// One tree to be corrected, word by word: its head and its relation, by the keyboard, by lists, or by clicks. A parser
// learns from whole trees, so that all of it is saved; what is no tree (two roots, a circle) is not.

import { h, replace } from "./dom.js";
import { fixed } from "./format.js";
import { arcsPicture } from "./arcs.js";

const NEAREST = 6;

export const TREE_KEYS = [["\u2190 \u2192", "move"], ["Enter", "is right"], ["1\u20136", "another arc"], ["Shift \u2190 \u2192", "another head"], ["0", "the root"], ["letters", "search a relation"], ["Ctrl Enter", "save the whole tree"]];

export class TreeEditor {
  // options: { ask() -> record of the view `tree`, relations, root, save(), draft(value) }
  constructor(sentence, options) {
    this.sentence = sentence;
    this.options = options;
    this.n = sentence.tokens.length;
    const from = sentence.draft?.heads?.length === this.n ? sentence.draft : sentence;
    this.heads = [...from.heads];
    this.relations = [...from.relations];
    this.seen = sentence.draft?.seen ?? Array(this.n).fill(false);
    this.at = Math.max(0, this.seen.indexOf(false));
    this.typed = null;
    this.rivals = [];
    this.picture = h("div", { class: "scroll arcs-frame" });
    this.words = h("ul", { class: "annotation", role: "listbox", "aria-label": "Words with head and relation", tabindex: 0, on: { keydown: (event) => this.key(event), click: (event) => this.click(event) } });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Arcs for the word" });
    this.lists = h("div", { class: "controls" });
    this.fault = h("p", { class: "note fault", role: "status" });
    this.node = h("div", {}, this.picture, this.words, this.choices, this.lists, this.fault);
    this.draw();
    this.refresh();
  }

  async refresh() {
    try {
      this.rivals = (await this.options.ask()).rivals;
      this.draw();
    } catch {
      this.rivals = []; // the lists and the keys are enough
    }
  }

  focus() {
    this.words.focus();
  }

  // What is wrong with the tree, or null.
  problem() {
    const roots = this.heads.map((head, k) => (head === 0 ? this.sentence.tokens[k] : null)).filter((word) => word !== null);
    if (!roots.length) return "No word is the root (key 0).";
    if (roots.length > 1) return `A tree has one root, and here are ${roots.length}: ${roots.join(", ")}. Give all but one of them a head.`;
    for (let k = 0; k < this.n; k += 1) {
      const way = new Set();
      for (let at = k + 1; at !== 0; at = this.heads[at - 1]) {
        if (way.has(at)) return `The arcs make a circle: ${[...way].map((word) => this.sentence.tokens[word - 1]).join(", ")}.`;
        way.add(at);
      }
    }
    return null;
  }

  value() {
    this.missing = this.problem();
    return this.missing ? null : { heads: this.heads, relations: this.relations };
  }

  all() {
    this.seen.fill(true);
    this.draw();
  }

  // The arcs that the best trees have at the word, the nearest first.
  nearest() {
    const found = new Map();
    const add = (head, relation, behind) => {
      const key = `${head} ${relation}`;
      if (!found.has(key)) found.set(key, { head, relation, behind });
    };
    add(this.heads[this.at], this.relations[this.at], null);
    for (const rival of this.rivals) add(rival.heads[this.at], rival.relations[this.at], this.rivals[0].score - rival.score);
    return [...found.values()].slice(0, NEAREST);
  }

  matching() {
    const text = this.typed.toLowerCase();
    const found = this.options.relations.filter((name) => name.toLowerCase().includes(text));
    return found.sort((a, b) => b.toLowerCase().startsWith(text) - a.toLowerCase().startsWith(text)).slice(0, 9).map((relation) => ({ head: this.heads[this.at], relation }));
  }

  named(head) {
    return head === 0 ? "the root" : `${this.sentence.tokens[head - 1]}`;
  }

  draw() {
    const { tokens } = this.sentence, changed = (k) => this.heads[k] !== this.sentence.heads[k] || this.relations[k] !== this.sentence.relations[k];
    replace(this.picture, arcsPicture({ words: tokens, tags: this.sentence.tags, above: { heads: this.heads, relations: this.relations, kind: (k) => (k === this.at ? "newest" : changed(k) ? "right" : "") }, mark: (k) => (k === this.at ? "on-stack" : "") }));
    replace(this.words, tokens.map((token, k) => h("li", { role: "option", id: `word-${k}`, "data-token": k, class: `${k === this.at ? "now" : ""}${this.seen[k] ? " done" : ""}`, "aria-selected": String(k === this.at),
      "aria-label": `${token}: ${this.relations[k]}${this.heads[k] ? ` of ${this.named(this.heads[k])}` : ", the root"}${changed(k) ? ", changed" : ""}${this.seen[k] ? ", checked" : ""}` },
    h("span", { class: "word" }, token), h("span", { class: "tag" }, this.relations[k]), h("small", {}, this.heads[k] ? `of ${this.named(this.heads[k])}` : "the root", changed(k) ? " \u2022 changed" : this.seen[k] ? " \u2713" : ""))));
    this.words.setAttribute("aria-activedescendant", `word-${this.at}`);
    const list = this.typed === null ? this.nearest() : this.matching();
    replace(this.choices, this.typed === null ? null : h("span", { class: "typed" }, "relation: ", h("b", {}, this.typed || "\u2026")),
      list.map((one, k) => h("button", { class: "chip", tabindex: -1, "aria-pressed": String(one.head === this.heads[this.at] && one.relation === this.relations[this.at]), on: { click: () => this.set(one.head, one.relation) } },
        h("kbd", {}, k + 1), one.head ? ` ${one.relation} of ${this.named(one.head)}` : ` ${one.relation}: the root`, one.behind ? h("small", {}, `${fixed(one.behind, 1)} behind`) : null)),
      this.typed !== null && !list.length ? h("span", { class: "note" }, "no such relation") : null);
    const used = this.lists.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    replace(this.lists, this.list("Head", [[0, "0. the root"], ...tokens.map((token, k) => [k + 1, `${k + 1}. ${token}`]).filter(([head]) => head !== this.at + 1)], this.heads[this.at], (value) => this.set(Number(value), this.relations[this.at], false)),
      this.list("Relation", this.options.relations.map((name) => [name, name]), this.relations[this.at], (value) => this.set(this.heads[this.at], value, false)));
    if (used) this.lists.querySelector(`[aria-label="${used}"]`).focus(); // lists that are made anew keep the keyboard
    const fault = this.problem();
    replace(this.fault, fault ?? "");
    this.fault.classList.toggle("runner", Boolean(fault));
  }

  list(name, options, value, act) {
    return h("label", { class: "field" }, h("span", {}, `${name} of \u201c${this.sentence.tokens[this.at]}\u201d`),
      h("select", { "aria-label": name, on: { change: (event) => act(event.target.value) } }, options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text))));
  }

  click(event) {
    const word = event.target.closest("[data-token]");
    if (!word) return;
    [this.at, this.typed] = [Number(word.dataset.token), null];
    this.draw();
  }

  move(by) {
    [this.at, this.typed] = [Math.min(this.n - 1, Math.max(0, this.at + by)), null];
    this.draw();
    this.words.children[this.at].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  set(head, relation, on = true) {
    [this.heads[this.at], this.relations[this.at], this.seen[this.at]] = [head, relation, true];
    this.options.draft({ heads: this.heads, relations: this.relations, seen: this.seen });
    if (on) this.words.focus();
    this.move(on ? 1 : 0);
  }

  // Another head, the next one to the left or right; the root lies before the first word.
  shift(by) {
    let head = this.heads[this.at] + by;
    if (head === this.at + 1) head += by;
    if (head >= 0 && head <= this.n) this.set(head, head === 0 ? this.options.root : this.heads[this.at] === 0 ? this.other() : this.relations[this.at], false);
  }

  // The relation of a word that is no longer the root.
  other() {
    return this.rivals.find((one) => one.heads[this.at] !== 0)?.relations[this.at] ?? this.options.relations.find((name) => name !== this.options.root) ?? this.options.root;
  }

  key(event) {
    if (event.metaKey || event.altKey) return;
    const list = this.typed === null ? this.nearest() : this.matching();
    if (event.key === "Enter" && (event.ctrlKey || event.shiftKey)) this.options.save();
    else if (event.key === "Enter") this.typed === null || !list.length ? this.set(this.heads[this.at], this.relations[this.at]) : this.set(list[0].head, list[0].relation);
    else if (event.key === "ArrowLeft") event.shiftKey ? this.shift(-1) : this.move(-1);
    else if (event.key === "ArrowRight") event.shiftKey ? this.shift(1) : this.move(1);
    else if (event.key === "Home") this.move(-this.n);
    else if (event.key === "End") this.move(this.n);
    else if (event.key === "Escape" && this.typed !== null) ((this.typed = null), this.draw());
    else if (event.key === "Backspace" && this.typed !== null) ((this.typed = this.typed.slice(0, -1) || null), this.draw());
    else if (event.key === "0" && this.typed === null) this.set(0, this.options.root);
    else if (/^[1-9]$/.test(event.key) && list[event.key - 1]) this.set(list[event.key - 1].head, list[event.key - 1].relation);
    else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey) ((this.typed = (this.typed ?? "") + event.key), this.draw());
    else return;
    event.preventDefault();
  }
}
