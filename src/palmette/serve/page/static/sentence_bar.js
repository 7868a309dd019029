// The text that the first view shows and the sentence of it that the other views look at: typed, or chosen among those of
// the text or of the file.

import { h, debounced } from "./dom.js";

const TEXT = "palmette-text"; // what was typed, in this browser session

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
    this.text = "";
    this.request = null;
    this.parts = []; // requests for the sentences of the text
    this.changed = debounced(() => this.tell(), 220);
  }

  choose(model, about) {
    if (!this.source.live) {
      this.list = this.source.sentences(model);
      const number = this.request?.number ?? 0;
      this.request = this.list.length ? { number: Math.min(number, this.list.length - 1) } : null;
      return;
    }
    [this.mode, this.about] = [modeOf(about), about];
    this.key = this.mode === "text" ? TEXT : `${TEXT}-${model}`;
    const kept = sessionStorage.getItem(this.key);
    if (kept !== null && this.text === kept && this.request?.[this.field()] !== undefined) return; // the sentence stays
    this.write(kept ?? about.example ?? "");
  }

  field() {
    return this.mode === "text" ? "text" : "lines";
  }

  // Another text: its sentences are those between line ends until the model has cut it.
  write(text) {
    this.text = text;
    const cut = text.split(this.mode === "text" ? /\n+/u : /\n\s*\n/u).map((part) => part.trim()).filter(Boolean);
    this.parts = cut.map((part) => ({ [this.field()]: part }));
    this.request = this.parts[0] ?? null;
  }

  // How the model has cut the text.
  found(requests) {
    if (!this.source.live) return;
    const same = requests.findIndex((one) => JSON.stringify(one) === JSON.stringify(this.request));
    this.parts = requests;
    this.request = requests[Math.max(0, same)] ?? null;
  }

  // A sentence to look at: one of the text, or another one.
  set(request) {
    this.request = request;
  }

  typed(text) {
    sessionStorage.setItem(this.key, text);
    this.write(text);
    this.changed();
  }

  // What the views of one sentence ask about; null if there is nothing yet.
  asked() {
    return this.request;
  }

  hasText() {
    return this.source.live ? Boolean(this.text.trim()) : this.list.length > 0;
  }

  // What the view of all sentences asks about.
  whole() {
    return { [this.field()]: this.text };
  }

  tell() {
    for (const act of this.listeners) act();
  }

  shown(request = this.request) {
    return request?.text ?? request?.lines ?? request?.tokens?.join(" ") ?? request?.rows?.map((row) => row[0]).join(" ") ?? "";
  }

  // All of the text, above the first view.
  textBar() {
    if (!this.source.live) return null;
    if (this.mode !== "text") return this.linesBar();
    const field = h("textarea", { id: "text", rows: 4, spellcheck: "false", placeholder: "Type or paste a text", value: this.text, on: { input: (event) => this.typed(event.target.value) } });
    return h("div", { class: "sentence-lines running" }, h("label", { for: "text" }, "Text"), field);
  }

  bar() {
    if (!this.source.live) return this.chooser(this.list.map((one) => [{ number: one.number }, one.text]));
    if (this.mode !== "text") return [this.linesBar(), this.among()];
    const field = h("input", { id: "sentence", type: "text", value: this.shown(), autocomplete: "off", spellcheck: "false", placeholder: "Type a sentence", on: { input: (event) => this.typed(event.target.value) } });
    return h("form", { class: "sentence", on: { submit: (event) => (event.preventDefault(), this.tell()) } },
      h("label", { for: "sentence" }, "Sentence"), field, this.among(field));
  }

  linesBar() {
    const attributes = this.mode === "attributes";
    const field = h("textarea", {
      id: "sentence", rows: 6, spellcheck: "false", placeholder: attributes ? "word=We\tcapital\nword=will" : "We PRP\nwill MD\nmeet VB", value: this.text,
      on: { input: (event) => this.typed(event.target.value) },
    });
    return h("div", { class: "sentence-lines" }, h("label", { for: "sentence" }, attributes ? "Attributes of the tokens, one line per token" : `Tokens, one per line, with ${this.about.columns} columns; a blank line ends a sentence`), field,
      h("p", { class: "note" }, attributes
        ? "This model reads attributes that your own program makes of the words, so that a typed sentence is not enough for it. Paste what your program makes: the attributes of a token in a line, separated by tabs or spaces, as CRFsuite reads them, without labels."
        : "This model reads more than words, and the server has no tagger that makes the other columns. Paste them with the words, separated by spaces, or start the server with --with, as in: palmette serve chunk.palm --with pos=pos.palm"));
  }

  // The other sentences of the text.
  among(field = null) {
    if (this.parts.length < 2) return null;
    const at = this.parts.findIndex((one) => this.shown(one) === this.shown());
    return h("select", { "aria-label": "Sentences of the text", class: "among", on: { change: (event) => {
      this.set(this.parts[event.target.value]);
      if (field) field.value = this.shown();
      this.tell();
    } } }, at < 0 ? h("option", { value: "", selected: true }, "another sentence") : null,
    this.parts.map((one, k) => h("option", { value: k, selected: k === at }, `${k + 1} of ${this.parts.length}`)));
  }

  chooser(choices) {
    if (!choices.length) return null;
    return h("div", { class: "sentence" }, h("label", { for: "sentence" }, "Sentence"),
      h("select", { id: "sentence", on: { change: (event) => (this.set(choices[event.target.value][0]), this.tell()) } },
        choices.map(([request, text], k) => h("option", { value: k, selected: request.number === this.request.number }, `${k + 1}. ${text.slice(0, 110)}`))));
  }
}
