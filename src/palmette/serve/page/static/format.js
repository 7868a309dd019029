// Numbers as people read them.

const MINUS = "\u2212";

export function fixed(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

export function signed(value, digits = 2) {
  const text = fixed(value, digits);
  return value > 0 && Number(value.toFixed(digits)) !== 0 ? `+${text}` : text;
}

export function percent(share, digits = 1) {
  if (share === null || share === undefined) return "\u2013";
  if (share > 0 && share < 0.5 * 10 ** (-digits - 2)) return `< ${(10 ** -digits).toFixed(digits)}%`;
  if (share < 1 && share > 1 - 0.5 * 10 ** (-digits - 2)) return `> ${(100 - 10 ** -digits).toFixed(digits)}%`;
  return `${(100 * share).toFixed(digits)}%`;
}

export function whole(value) {
  return value.toLocaleString("en-US");
}

// In at most four characters, for small cells: 9.8k, 11k.
export function short(value) {
  if (value < 1000) return String(value);
  const power = value < 999_500 ? ["k", 1000] : ["M", 1e6];
  const share = value / power[1];
  return `${share < 9.95 ? share.toFixed(1) : Math.round(share)}${power[0]}`;
}

export function counted(n, one, many = `${one}s`) {
  return `${whole(n)} ${n === 1 ? one : many}`;
}

// How many label sequences there are: exact while that is short, then a power of ten.
export function sequences(labels, tokens) {
  const digits = tokens * Math.log10(labels);
  if (digits < 9) return whole(Math.round(labels ** tokens));
  const power = Math.floor(digits);
  return `${(10 ** (digits - power)).toFixed(1)} \u00d7 10${[...String(power)].map((d) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[d]).join("")}`;
}

// Rounded numbers that add up to the rounded sum: what rounding leaves goes to the terms that lost most by it.
export function addedUp(values, total, digits = 2) {
  const unit = 10 ** digits;
  const cells = values.map((value) => Math.floor(value * unit));
  const order = values.map((value, k) => k).sort((a, b) => values[b] * unit - cells[b] - (values[a] * unit - cells[a]));
  let left = Math.round(total * unit) - cells.reduce((sum, cell) => sum + cell, 0);
  for (let k = 0; left > 0 && order.length; k = (k + 1) % order.length, left -= 1) cells[order[k]] += 1;
  for (let k = order.length - 1; left < 0 && order.length; k = (k + order.length - 1) % order.length, left += 1) cells[order[k]] -= 1;
  return cells.map((cell) => cell / unit);
}
