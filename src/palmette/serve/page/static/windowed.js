// A list of which only the rows in sight exist, so that ten thousand are as quick as ten. Rows have one height each,
// guessed first and measured when they are shown.

import { h, replace } from "./dom.js";

export class WindowedList {
  constructor(make, label, guess = 76) {
    this.make = make;
    this.guess = guess;
    this.items = [];
    this.heights = [];
    this.room = h("div", { class: "window-room" });
    this.node = h("div", { class: "window", role: "list", "aria-label": label, tabindex: 0, on: { scroll: () => this.draw() } }, this.room);
    new ResizeObserver(() => {
      if (this.node.clientWidth !== this.measured) {
        this.measured = this.node.clientWidth;
        this.heights.fill(0);
        this.draw();
      }
    }).observe(this.node);
  }

  show(items) {
    this.items = items;
    this.heights = new Float64Array(items.length);
    this.node.scrollTop = 0;
    this.draw();
  }

  height(k) {
    return this.heights[k] || this.guess;
  }

  draw() {
    const top = this.node.scrollTop, high = this.node.clientHeight || 600;
    let at = 0, first = 0;
    while (first < this.items.length && at + this.height(first) < top - 200) at += this.height(first++);
    const begin = at, rows = [];
    let last = first;
    while (last < this.items.length && at < top + high + 400) {
      rows.push(h("div", { role: "listitem", class: "window-row", "aria-setsize": this.items.length, "aria-posinset": last + 1 }, this.make(this.items[last])));
      at += this.height(last++);
    }
    let rest = 0;
    for (let k = last; k < this.items.length; k += 1) rest += this.height(k);
    this.room.style.setProperty("padding-top", `${begin}px`);
    this.room.style.setProperty("padding-bottom", `${rest}px`);
    replace(this.room, rows);
    rows.forEach((row, k) => (this.heights[first + k] = row.offsetHeight || this.guess));
  }
}
