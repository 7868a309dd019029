// What is told about an element that is pointed at or has the focus. It stays while the pointer is on it, and Escape
// puts it away.

import { h, replace } from "./dom.js";

const PATIENCE = 180;

export class Tip {
  constructor(room) {
    this.room = room;
    this.node = h("div", { class: "tip", role: "tooltip", id: "tip", hidden: true, on: { pointerenter: () => clearTimeout(this.timer), pointerleave: () => this.later() } });
  }

  over(element, told) {
    const show = () => this.show(element, told);
    for (const event of ["pointerenter", "focus"]) element.addEventListener(event, show);
    element.addEventListener("pointerleave", () => this.later());
    element.addEventListener("blur", () => this.later());
    element.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
  }

  show(element, told) {
    clearTimeout(this.timer);
    this.owner?.removeAttribute("aria-describedby");
    this.owner = element;
    element.setAttribute("aria-describedby", "tip");
    replace(this.node, ...told());
    this.node.hidden = false;
    const at = element.getClientRects()[0], room = this.room.getBoundingClientRect();
    this.node.style.setProperty("left", `${Math.max(0, Math.min(at.left - room.left, room.width - this.node.offsetWidth))}px`);
    const last = [...element.getClientRects()].at(-1);
    this.node.style.setProperty("top", `${last.bottom - room.top + 4}px`);
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hide(), PATIENCE);
  }

  hide() {
    this.node.hidden = true;
    this.owner?.removeAttribute("aria-describedby");
    this.owner = null;
  }
}
