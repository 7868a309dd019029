// One sentence whose spans are to be corrected: words are selected by dragging or with Shift and the arrows, and a key
// gives the selection a type. A saved sentence is right as a whole.

import { h, replace } from "./dom.js";

const HUES = 6, NEAREST = 9;

export const SPAN_KEYS = [["drag, Shift \u2190 \u2192", "select words"], ["1\u20139", "type of the selection"], ["letters", "search a type"], ["Backspace", "no span"], ["Enter", "save, next"]];

// The methods are those of Annotation.
export class SpanEditor {
  // options: { types, save(), go(by), draft(value), was, say(text) }
  constructor(sentence, options) {
    this.sentence = sentence;
    this.options = options;
    this.n = sentence.tokens.length;
    this.spans = (options.was?.spans ?? sentence.spans).map((span) => ({ ...span }));
    [this.at, this.from, this.typed, this.dragging] = [0, 0, null, false];
    this.missing = "";
    this.tokens = h("ul", {
      class: "annotation spans-editor", role: "listbox", "aria-label": "Words and spans", "aria-multiselectable": "true", tabindex: 0,
      on: {
        keydown: (event) => this.key(event), pointerdown: (event) => this.press(event), pointerover: (event) => this.drag(event),
        pointerup: () => (this.dragging = false), pointercancel: () => (this.dragging = false),
      },
    });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Types for the selection" });
    this.node = h("div", {}, this.tokens, this.choices);
    this.draw();
  }

  focus() {
    this.tokens.focus();
  }

  value() {
    return { spans: this.spans };
  }

  all() {} // what is shown is what is saved

  // The selected words: from the first to the one after the last.
  selection() {
    return [Math.min(this.at, this.from), Math.max(this.at, this.from) + 1];
  }

  spanAt(i) {
    return this.spans.find((span) => span.start <= i && i < span.end) ?? null;
  }

  offered() {
    const { types } = this.options;
    if (this.typed === null) return types.slice(0, NEAREST);
    const text = this.typed.toLowerCase(), found = types.filter((type) => type.toLowerCase().includes(text));
    return found.sort((a, b) => b.toLowerCase().startsWith(text) - a.toLowerCase().startsWith(text)).slice(0, NEAREST);
  }

  draw() {
    const [start, end] = this.selection(), { types } = this.options;
    replace(this.tokens, this.sentence.tokens.map((token, i) => {
      const span = this.spanAt(i), chosen = start <= i && i < end;
      const kind = span ? ` in-span hue${Math.max(0, types.indexOf(span.label)) % HUES}${i === span.start ? " first" : ""}${i === span.end - 1 ? " last" : ""}` : "";
      return h("li", { role: "option", id: `token-${i}`, "data-token": i, class: `${chosen ? "chosen" : ""}${i === this.at ? " now" : ""}${kind}`, "aria-selected": String(chosen), "aria-label": `${token}${span ? `: ${span.label || "span"}` : ""}` },
        h("span", { class: "word" }, token), h("small", {}, span && i === span.start ? span.label || "span" : "\u00a0"));
    }));
    this.tokens.setAttribute("aria-activedescendant", `token-${this.at}`);
    const list = this.offered(), here = this.spanAt(this.at)?.label;
    replace(this.choices, this.typed === null ? null : h("span", { class: "typed" }, "type: ", h("b", {}, this.typed || "\u2026")),
      list.map((type, k) => h("button", { class: `chip hue${types.indexOf(type) % HUES} coloured`, tabindex: -1, "aria-pressed": String(type === here), on: { click: () => this.set(type) } }, h("kbd", {}, k + 1), ` ${type || "span"}`)),
      this.typed !== null && !list.length ? h("span", { class: "note" }, "no such type") : null,
      h("button", { class: "chip", tabindex: -1, on: { click: () => this.set(null) } }, h("kbd", {}, "\u232b"), " no span"));
  }

  press(event) {
    const token = event.target.closest("[data-token]");
    if (!token) return;
    event.preventDefault();
    this.focus();
    const i = Number(token.dataset.token), span = this.spanAt(i);
    token.releasePointerCapture?.(event.pointerId); // so that a finger, too, moves over other words
    if (event.shiftKey) this.at = i;
    else [this.from, this.at] = span ? [span.start, span.end - 1] : [i, i];
    [this.typed, this.dragging] = [null, true];
    this.pressed = event.shiftKey ? this.from : i;
    this.draw();
  }

  drag(event) {
    const token = this.dragging && event.buttons ? event.target.closest("[data-token]") : null;
    if (!token || Number(token.dataset.token) === this.at) return;
    [this.from, this.at] = [this.pressed, Number(token.dataset.token)];
    this.draw();
  }

  move(by, extend) {
    this.at = Math.min(this.n - 1, Math.max(0, this.at + by));
    if (!extend) this.from = this.at;
    this.typed = null;
    this.draw();
    this.tokens.children[this.at].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // A type for the selection, or none: spans that it touches are replaced.
  set(label) {
    const [start, end] = this.selection();
    this.spans = this.spans.filter((span) => span.end <= start || span.start >= end);
    if (label !== null) this.spans.push({ start, end, label });
    this.spans.sort((a, b) => a.start - b.start);
    this.typed = null;
    this.options.draft({ spans: this.spans });
    const words = this.sentence.tokens.slice(start, end).join(" ");
    this.options.say(label === null ? `${words}: no span` : `${words}: ${label || "span"}`);
    this.draw();
    this.focus();
  }

  key(event) {
    if (event.metaKey || event.altKey) return;
    const list = this.offered();
    if (event.key === "Enter" && this.typed !== null) (list.length ? this.set(list[0]) : null);
    else if (event.key === "Enter") this.options.save();
    else if (event.key === "ArrowLeft") this.move(-1, event.shiftKey);
    else if (event.key === "ArrowRight") this.move(1, event.shiftKey);
    else if (event.key === "Home") this.move(-this.n, event.shiftKey);
    else if (event.key === "End") this.move(this.n, event.shiftKey);
    else if (event.key === "Escape") ((this.typed = null), this.move(0, false));
    else if (event.key === "Backspace" && this.typed) ((this.typed = this.typed.slice(0, -1) || null), this.draw());
    else if (event.key === "Backspace" || event.key === "Delete") this.set(null);
    else if (/^[1-9]$/.test(event.key) && list[event.key - 1] !== undefined) this.set(list[event.key - 1]);
    else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey) ((this.typed = (this.typed ?? "") + event.key), this.draw());
    else return;
    event.preventDefault();
  }
}
