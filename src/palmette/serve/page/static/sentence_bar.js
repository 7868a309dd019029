// The sentence that several views look at: typed, or chosen among those of the file.

import { h, debounced } from "./dom.js";

export const EXAMPLE = "We will meet at the station on Monday.";

// What a model reads: `text` is typed into a field; `columns` and `attributes` are pasted, a line per token.
function modeOf(about) {
  if (about?.kind !== "tagger" || about.text !== false) return "text";
  return about.columns === null ? "attributes" : "columns";
}

export class Sentences {
  constructor(source) {
    this.source = source;
    this.listeners = [];
    this.mode = "text";
    this.request = source.live ? { text: sessionStorage.getItem("palmette-sentence") || EXAMPLE } : null;
    this.changed = debounced(() => this.tell(), 220);
  }

  choose(model, about) {
    if (!this.source.live) {
      this.list = this.source.sentences(model);
      const number = this.request?.number ?? 0;
      this.request = this.list.length ? { number: Math.min(number, this.list.length - 1) } : null;
      return;
    }
    [this.mode, this.about, this.key] = [modeOf(about), about, `palmette-lines-${model}`];
    if (this.mode !== "text") this.request = { lines: sessionStorage.getItem(this.key) ?? about.example ?? "" };
    else if (this.request.lines !== undefined) this.request = { text: sessionStorage.getItem("palmette-sentence") || EXAMPLE };
  }

  set(request) {
    this.request = request;
    if (request?.text !== undefined) sessionStorage.setItem("palmette-sentence", request.text);
    if (request?.lines !== undefined) sessionStorage.setItem(this.key, request.lines);
  }

  // What the views ask about; null if there is nothing yet.
  asked() {
    const { request } = this, given = request?.text ?? request?.lines;
    return request && (given === undefined || given.trim()) ? request : null;
  }

  tell() {
    for (const act of this.listeners) act();
  }

  text() {
    return this.request?.text ?? this.request?.tokens?.join(" ") ?? this.request?.rows?.map((row) => row[0]).join(" ") ?? "";
  }

  bar() {
    if (!this.source.live) return this.chooser();
    if (this.mode !== "text") return this.linesBar();
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

  linesBar() {
    const attributes = this.mode === "attributes";
    const field = h("textarea", {
      id: "sentence", rows: 6, spellcheck: "false", placeholder: attributes ? "word=We\tcapital\nword=will" : "We PRP\nwill MD\nmeet VB", value: this.request?.lines ?? "",
      on: { input: (event) => (this.set({ lines: event.target.value }), this.changed()) },
    });
    return h("div", { class: "sentence-lines" }, h("label", { for: "sentence" }, attributes ? "Attributes of the tokens, a line per token" : `Tokens, a line each, with ${this.about.columns} columns`), field,
      h("p", { class: "note" }, attributes
        ? "This model reads attributes that your own program makes of the words, so that a typed sentence is not enough for it. Paste what your program makes: the attributes of a token in a line, separated by tabs or spaces, as CRFsuite reads them, without labels. The lines to begin with are the strongest attributes of some labels."
        : "This model reads more than words, and the server has no tagger that makes the other columns. Paste them with the words, separated by spaces, or start the server with --with, as in: palmette serve chunk.palm --with pos=pos.palm"));
  }

  chooser() {
    if (!this.list?.length) return null;
    return h("div", { class: "sentence" }, h("label", { for: "sentence" }, "Sentence"),
      h("select", { id: "sentence", on: { change: (event) => (this.set({ number: Number(event.target.value) }), this.tell()) } },
        this.list.map((one) => h("option", { value: one.number, selected: one.number === this.request.number }, `${one.number + 1}. ${one.text.slice(0, 110)}`))));
  }
}
