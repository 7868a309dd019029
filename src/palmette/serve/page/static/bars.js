// A waterfall: bars for and against, each beginning where the one before it ended, so that they add up to the last one.

import { h } from "./dom.js";
import { inWords } from "./names.js";
import { signed, addedUp, counted } from "./format.js";

// parts: [{ name, about, amount }], the largest first; `most` are shown, the others added up.
export function waterfall(parts, difference, most) {
  const shown = parts.slice(0, most), rest = parts.slice(most);
  const amounts = [...shown.map((one) => one.amount), ...(rest.length ? [difference - shown.reduce((sum, one) => sum + one.amount, 0)] : [])];
  const written = addedUp(amounts, difference, 3);
  let at = 0;
  const ends = amounts.map((amount) => [at, (at += amount)]);
  const low = Math.min(0, difference, ...ends.flat()), high = Math.max(low + 0.001, 0, difference, ...ends.flat());
  const place = (value) => `${(100 * (value - low)) / (high - low)}%`;
  const size = (value) => `${(100 * Math.abs(value)) / (high - low)}%`;
  const room = (from, to, kind) => h("span", { class: "bar-room" }, h("i", { class: `bar ${kind}`, style: { left: place(Math.min(from, to)), width: size(to - from) } }), h("i", { class: "zero", style: { left: place(0) } }));
  const row = (k, name, about) => h("li", { class: "bar-row", "data-amount": amounts[k] },
    h("span", { class: "bar-name", title: inWords(name) }, name, about ? h("small", {}, about) : null), room(...ends[k], amounts[k] >= 0 ? "for" : "against"), h("span", { class: "bar-value" }, signed(written[k], 3)));
  return h("ol", { class: "bars", "data-difference": difference },
    shown.map((one, k) => row(k, one.name, one.about)),
    rest.length ? row(shown.length, `${counted(rest.length, "smaller one")}, together`, "") : null,
    h("li", { class: "bar-row total" }, h("span", { class: "bar-name" }, "Difference"), room(0, difference, "sum"), h("span", { class: "bar-value" }, signed(difference, 3))));
}
