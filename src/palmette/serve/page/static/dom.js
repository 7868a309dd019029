// Elements in one call, and what several views need of the document. No markup is ever parsed from a string.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === "text") node.textContent = value;
    else if (name === "value") node.value = value;
    else if (name === "checked" || name === "disabled" || name === "selected") node[name] = Boolean(value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// A call that waits until nothing new has come for a while.
export function debounced(act, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}

// The last of several calls wins: what a slow answer brings after a newer question is dropped.
export function latest(ask, show, fail) {
  let number = 0;
  return async (...given) => {
    const own = ++number;
    try {
      const found = await ask(...given);
      if (own === number) show(found, ...given);
    } catch (error) {
      if (own === number) fail(error);
    }
  };
}

let ruler = null;

export function textWidth(text, size = 14, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, h("strong", {}, "That did not work. "), error.message);
}

export function heading(title, ...lead) {
  return h("header", { class: "head" }, h("h1", {}, title), lead.length ? h("p", { class: "lead" }, ...lead) : null);
}

export function section(title, note, ...children) {
  return h("section", { class: "part" }, h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, ...children);
}

export function select(name, options, value, act) {
  return h(
    "label", { class: "field" }, h("span", {}, name),
    h("select", { "aria-label": name, on: { change: (event) => act(event.target.value) } },
      options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text))),
  );
}
