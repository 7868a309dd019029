// One sentence to be corrected, by the keyboard or the mouse. What was looked at is fixed, and the model finds the
// other labels anew; what was not looked at is saved as unknown.

import { h, replace } from "./dom.js";
import { percent } from "./format.js";

const NEAREST = 6;

export const LABEL_KEYS = [["Enter", "is right"], ["1\u20136", "another label"], ["letters", "search a label"], ["\u2190 \u2192", "move"], ["Backspace", "unknown"], ["Ctrl Enter", "save"], ["Shift Enter", "all are right, save"]];

// The editors of a sentence (this one, TreeEditor, ClassEditor) have the same methods: `value` is what to save, or null
// if there is nothing yet (`missing` says what), `all` says that everything is right.
export class Annotation {
  // options: { ask(allowed) -> marginals record, labels, save(), draft(value) }
  constructor(sentence, options) {
    this.sentence = sentence;
    this.options = options;
    this.n = sentence.tokens.length;
    this.checked = sentence.checked ?? Array(this.n).fill(null); // a label where somebody looked
    this.labels = sentence.labels.map((label, i) => this.checked[i] ?? label);
    this.shares = null;
    this.at = Math.max(0, this.checked.indexOf(null));
    this.typed = null;
    this.tokens = h("ul", { class: "annotation", role: "listbox", "aria-label": "Tokens and labels", tabindex: 0, "aria-multiselectable": "false", on: { keydown: (event) => this.key(event), click: (event) => this.click(event) } });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Labels for the token" });
    this.node = h("div", {}, this.tokens, this.choices);
    this.missing = "Nothing is checked yet: Enter says that a label is right.";
    this.draw();
    this.refresh();
  }

  focus() {
    this.tokens.focus();
  }

  value() {
    return this.checked.every((label) => label === null) ? null : { labels: this.checked };
  }

  async refresh() {
    const allowed = Object.fromEntries(this.checked.map((label, i) => [i, label]).filter(([, label]) => label !== null));
    const number = (this.asked = (this.asked ?? 0) + 1);
    try {
      const found = await this.options.ask(allowed);
      if (number !== this.asked) return;
      if (!found.possible) throw new Error("contradiction");
      this.shares = found.marginals;
      this.labels = found.best.map((k, i) => this.checked[i] ?? found.labels[k]);
      this.names = found.labels;
    } catch {
      if (number !== this.asked) return;
      this.shares = null; // labels that contradict each other: they stay as they are
      this.labels = this.labels.map((label, i) => this.checked[i] ?? label);
    }
    this.draw();
  }

  nearest() {
    const own = this.shares?.[this.at];
    if (!own) return this.options.labels.slice(0, NEAREST);
    return own.map((share, k) => [share, this.names[k]]).sort((a, b) => b[0] - a[0]).slice(0, NEAREST).map(([, label]) => label);
  }

  matching() {
    const text = this.typed.toLowerCase();
    const found = this.options.labels.filter((label) => label.toLowerCase().includes(text));
    return found.sort((a, b) => b.toLowerCase().startsWith(text) - a.toLowerCase().startsWith(text)).slice(0, 9);
  }

  draw() {
    replace(this.tokens, this.sentence.tokens.map((token, i) => {
      const share = this.shares && this.names ? this.shares[i][this.names.indexOf(this.labels[i])] : null;
      const done = this.checked[i] !== null;
      return h("li", { role: "option", id: `token-${i}`, "data-token": i, class: `${i === this.at ? "now" : ""}${done ? " done" : ""}`, "aria-selected": String(i === this.at),
        "aria-label": `${token}: ${this.labels[i]}, ${done ? "checked" : share === null ? "not checked" : `not checked, ${percent(share, 0)}`}` },
      h("span", { class: "word" }, token), h("span", { class: "tag" }, this.labels[i]), h("small", {}, done ? "\u2713 checked" : share === null ? "" : percent(share, 0)),
      done || share === null ? null : h("i", { class: "doubt", style: { opacity: (Math.max(0, 1 - share) ** 0.6).toFixed(2) } }));
    }));
    this.tokens.setAttribute("aria-activedescendant", `token-${this.at}`);
    const list = this.typed === null ? this.nearest() : this.matching();
    replace(this.choices, this.typed === null ? null : h("span", { class: "typed" }, "label: ", h("b", {}, this.typed || "\u2026")),
      list.map((label, k) => h("button", { class: "chip", tabindex: -1, "aria-pressed": String(label === this.labels[this.at]), on: { click: () => this.set(label) } }, h("kbd", {}, k + 1), ` ${label}`)),
      this.typed !== null && !list.length ? h("span", { class: "note" }, "no such label") : null);
  }

  click(event) {
    const token = event.target.closest("[data-token]");
    if (!token) return;
    [this.at, this.typed] = [Number(token.dataset.token), null];
    this.draw();
  }

  move(by) {
    [this.at, this.typed] = [Math.min(this.n - 1, Math.max(0, this.at + by)), null];
    this.draw();
    this.tokens.children[this.at].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  set(label) {
    const before = this.labels[this.at];
    this.checked[this.at] = label;
    if (label !== null) this.labels[this.at] = label;
    this.options.draft({ labels: this.checked });
    this.tokens.focus();
    this.move(label === null ? 0 : 1);
    if (label !== before || label === null) this.refresh();
  }

  all() {
    this.checked = this.labels.map((label) => label);
    this.options.draft({ labels: this.checked });
    this.draw();
  }

  key(event) {
    if (event.metaKey || event.altKey) return;
    const list = this.typed === null ? this.nearest() : this.matching();
    if (event.key === "Enter" && event.ctrlKey) this.options.save();
    else if (event.key === "Enter" && event.shiftKey) (this.all(), this.options.save());
    else if (event.key === "Enter") this.set(this.typed === null ? this.labels[this.at] : (list[0] ?? this.labels[this.at]));
    else if (event.key === "ArrowLeft") this.move(-1);
    else if (event.key === "ArrowRight") this.move(1);
    else if (event.key === "Home") this.move(-this.n);
    else if (event.key === "End") this.move(this.n);
    else if (event.key === "Escape" && this.typed !== null) ((this.typed = null), this.draw());
    else if (event.key === "Backspace") (this.typed ? ((this.typed = this.typed.slice(0, -1)), this.draw()) : ((this.typed = null), this.set(null)));
    else if (/^[1-9]$/.test(event.key) && list[event.key - 1]) this.set(list[event.key - 1]);
    else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey) ((this.typed = (this.typed ?? "") + event.key), this.draw());
    else return;
    event.preventDefault();
  }
}
