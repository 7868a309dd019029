// A heat map: a table with shaded cells, so that screen readers and the keyboard find rows and columns.

import { h, textWidth } from "./dom.js";

const SLANT = Math.sin((55 * Math.PI) / 180); // of the names of columns

// One or two hues: `blue` from nothing to all, `orange` likewise, `both` with orange below zero.
export function heatMap({ rows, columns, value, shade, text, told, mark, click, label, kind = "blue", size = 30, wide = false, slanted = false, chosen = null, corner = "" }) {
  const cell = (r, c) => {
    const found = value(r, c);
    const share = found === null ? 0 : shade(found, r, c);
    const hue = kind === "both" ? (share < 0 ? "orange" : "blue") : typeof kind === "function" ? kind(r, c) : kind;
    const strength = Math.min(1, Math.abs(share));
    const inner = strength < 0.005 && found !== null && !text(found, r, c) ? [] : [ // most cells of large maps are empty
      h("i", { class: `heat ${hue}`, style: { opacity: strength.toFixed(3) } }),
      h("span", { class: strength > 0.55 ? "on-dark" : "" }, found === null ? "" : text(found, r, c)),
    ];
    const props = { class: `${found === null ? "none" : ""}${mark?.(r, c) ? " marked" : ""}${chosen && chosen[0] === r && chosen[1] === c ? " chosen" : ""}`, title: told(r, c, found) };
    if (click && found) {
      return h("td", props, h("button", { class: "heat-button", "aria-label": told(r, c, found), "aria-pressed": String(Boolean(chosen && chosen[0] === r && chosen[1] === c)), on: { click: () => click(r, c) } }, inner));
    }
    return h("td", props, inner);
  };
  const long = slanted ? Math.max(0, ...columns.map((name) => textWidth(name, 13, 500))) : 0;
  const style = { "--size": `${size}px`, "--head": `${Math.ceil(SLANT * long + 22)}px`, "--beyond": `${Math.ceil(0.6 * long)}px` };
  return h("div", { class: "scroll" }, h("table", { class: `heat-map${wide ? " wide" : ""}${slanted ? " slanted" : ""}`, style, "aria-label": label },
    h("thead", {}, h("tr", {}, h("td", { class: "corner" }, corner), columns.map((name) => h("th", { scope: "col" }, h("span", {}, name))))),
    h("tbody", {}, rows.map((name, r) => h("tr", {}, h("th", { scope: "row" }, name), columns.map((_, c) => cell(r, c)))))));
}
