// The sentence that several views look at: typed, or chosen among those of the file.

import { h, debounced } from "./dom.js";

export const EXAMPLE = "We will meet at the station on Monday.";

export class Sentences {
  constructor(source) {
    this.source = source;
    this.listeners = [];
    this.request = source.live ? { text: sessionStorage.getItem("palmette-sentence") || EXAMPLE } : null;
    this.changed = debounced(() => this.tell(), 220);
  }

  choose(model) {
    if (!this.source.live) {
      this.list = this.source.sentences(model);
      const number = this.request?.number ?? 0;
      this.request = this.list.length ? { number: Math.min(number, this.list.length - 1) } : null;
    }
  }

  set(request) {
    this.request = request;
    if (request?.text !== undefined) sessionStorage.setItem("palmette-sentence", request.text);
  }

  tell() {
    for (const act of this.listeners) act();
  }

  text() {
    return this.request?.text ?? this.request?.tokens?.join(" ") ?? this.request?.rows?.map((row) => row[0]).join(" ") ?? "";
  }

  bar() {
    if (!this.source.live) return this.chooser();
    const field = h("input", {
      id: "sentence", type: "text", value: this.text(), autocomplete: "off", spellcheck: "false", placeholder: "Type a sentence",
      on: {
        input: (event) => {
          this.set({ text: event.target.value });
          this.changed();
        },
      },
    });
    return h("form", { class: "sentence", on: { submit: (event) => (event.preventDefault(), this.tell()) } },
      h("label", { for: "sentence" }, "Sentence"), field);
  }

  chooser() {
    if (!this.list?.length) return null;
    return h("div", { class: "sentence" }, h("label", { for: "sentence" }, "Sentence"),
      h("select", { id: "sentence", on: { change: (event) => (this.set({ number: Number(event.target.value) }), this.tell()) } },
        this.list.map((one) => h("option", { value: one.number, selected: one.number === this.request.number }, `${one.number + 1}. ${one.text.slice(0, 110)}`))));
  }
}
