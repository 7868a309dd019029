// One sentence whose class is to be chosen: a key, or a click, saves it and goes on.

import { h, replace } from "./dom.js";

export const CLASS_KEYS = [["Enter", "is right, save"], ["1 2", "this class, save"], ["\u2190 \u2192", "the sentence before, the next one"]];

export class ClassEditor {
  // options: { classes, save(), go(by) }
  constructor(sentence, options) {
    this.sentence = sentence;
    this.options = options;
    this.chosen = sentence.draft?.class ?? null;
    this.missing = "No class is chosen yet: Enter says that the guess is right.";
    this.buttons = h("div", { class: "choices classes", role: "group", "aria-label": "The class of the sentence", tabindex: 0, on: { keydown: (event) => this.key(event) } });
    this.node = h("div", {}, h("p", { class: "class-sentence" }, sentence.tokens.join(" ")), this.buttons);
    this.draw();
  }

  draw() {
    replace(this.buttons, this.options.classes.map((name, k) => h("button", { class: "chip", tabindex: -1, "aria-pressed": String(name === (this.chosen ?? this.sentence.class)), on: { click: () => this.choose(name) } },
      h("kbd", {}, k + 1), ` ${name}`, name === this.sentence.class ? h("small", {}, "guess") : null)));
  }

  focus() {
    this.buttons.focus();
  }

  value() {
    return this.chosen === null ? null : { class: this.chosen };
  }

  all() {
    this.chosen ??= this.sentence.class;
    this.draw();
  }

  choose(name) {
    this.chosen = name;
    this.draw();
    this.options.save();
  }

  key(event) {
    if (event.metaKey || event.altKey) return;
    const named = this.options.classes[Number(event.key) - 1];
    if (event.key === "Enter") this.choose(this.chosen ?? this.sentence.class);
    else if (named !== undefined && /^[1-9]$/.test(event.key)) this.choose(named);
    else if (event.key === "ArrowLeft") this.options.go(-1);
    else if (event.key === "ArrowRight") this.options.go(1);
    else return;
    event.preventDefault();
  }
}
