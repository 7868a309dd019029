// The HTTP interface in the browser, drawn from the server's own description: what each address takes and gives, and a
// form that sends a request.

import { h, replace, heading, problem } from "./dom.js";
import { themeButton } from "./theme.js";

const DEPTH = 3; // of types inside types that are written out
const TOKEN = "palmette-token";

async function start() {
  const main = h("main", { id: "main" });
  document.body.append(h("header", { class: "top" }, h("a", { class: "brand", href: "./" }, "Palmette"), h("div", { class: "tools" }, h("a", { href: "openapi.json" }, "openapi.json"), themeButton())), main);
  try {
    const answer = await fetch("openapi.json", { headers: headers() });
    if (answer.status === 401) return replace(main, tokenForm());
    replace(main, description(await answer.json()));
  } catch (error) {
    replace(main, problem(error));
  }
}

function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { authorization: `Bearer ${token}` } : {};
}

function tokenForm() {
  const field = h("input", { type: "password", id: "token", autocomplete: "off" });
  return h("form", { class: "sentence", on: { submit: (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, field.value);
    location.reload();
  } } }, h("label", { for: "token" }, "Token"), field, h("button", {}, "Enter"));
}

function description(found) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(found.paths)) {
    for (const [method, about] of Object.entries(methods)) {
      const group = groupOf(path);
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push({ path, method: method.toUpperCase(), about });
    }
  }
  return h("article", {}, heading("HTTP interface", `Version ${found.info.version}. Open an address to see what it takes and gives, and to try it.`),
    [...groups].map(([name, rows]) => h("section", { class: "part" }, h("h2", {}, name), rows.map((row) => operation(found, row)))));
}

function groupOf(path) {
  const known = [["labelstudio", "Label Studio"], ["inception", "INCEpTION"], ["correct", "Corrections"], ["pick", "Corrections"], ["retrain", "Training"], ["training", "Training"], ["models", "Models"]];
  if (["/setup", "/predict", "/train", "/webhook"].includes(path)) return "Label Studio";
  return known.find(([part]) => path.includes(part))?.[1] ?? "Server";
}

function operation(found, { path, method, about }) {
  const node = h("details", { class: "operation" }, h("summary", {}, h("b", { class: "method" }, method), " ", h("code", {}, path), " ", h("span", { class: "note" }, about.summary)));
  node.addEventListener("toggle", () => node.childElementCount === 1 && node.append(inside(found, path, method, about)));
  return node;
}

function inside(found, path, method, about) {
  const body = about.requestBody?.content, kind = body && Object.keys(body)[0];
  const [status, good] = Object.entries(about.responses)[0], given = Object.entries(good.content ?? {})[0];
  return h("div", { class: "operation-inside" },
    body ? [h("h3", {}, `Takes ${kind}`), type(found, body[kind].schema, DEPTH)] : null,
    h("h3", {}, `Gives ${status}${given ? ` ${given[0]}` : ""}`), given ? type(found, given[1].schema, DEPTH) : null,
    h("p", { class: "note" }, "Errors: ", Object.entries(about.responses).slice(1).filter(([, one]) => one.description !== "the answer").map(([code, one]) => `${code} ${one.description}`).join("; "), "."),
    form(found, path, method, about, kind));
}

// A type in words, with the fields of objects as a table.
function type(found, schema, depth) {
  const own = resolved(found, schema), rows = Object.entries(own.properties ?? {});
  const choices = own.anyOf ?? own.oneOf;
  if (rows.length && depth) {
    const needed = new Set(own.required ?? []);
    return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Fields" }, own.description ? h("p", { class: "note" }, own.description) : null, h("table", { class: "fields" },
      h("thead", {}, h("tr", {}, ["Field", "Type", "Default"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map(([name, one]) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, name), needed.has(name) ? h("small", {}, " needed") : null),
        h("td", {}, written(found, one, 2)), h("td", {}, one.default === undefined ? "" : h("code", {}, JSON.stringify(one.default))))))));
  }
  if (choices && depth) return h("ul", { class: "choices-of-types" }, choices.map((one) => h("li", {}, h("b", {}, written(found, one, 0)), type(found, one, depth - 1))));
  return h("p", {}, written(found, own, depth));
}

function resolved(found, schema) {
  return schema.$ref ? (found.components.schemas[schema.$ref.split("/").at(-1)] ?? {}) : schema;
}

function written(found, schema, depth) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((one) => written(found, one, depth)).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "array") return `list of ${depth && schema.items ? written(found, schema.items, depth - 1) : "values"}`;
  if (schema.type === "object" && schema.additionalProperties) return `object of ${typeof schema.additionalProperties === "object" ? written(found, schema.additionalProperties, depth - 1) : "values"}`;
  return schema.type ?? "any JSON";
}

function form(found, path, method, about, kind) {
  const places = (about.parameters ?? []).map((one) => ({ ...one, field: choose(one) }));
  const text = kind ? h("textarea", { rows: 5, spellcheck: "false", "aria-label": `Body of ${method} ${path}`, value: kind === "application/json" ? example(found, path, about.requestBody.content[kind].schema) : "" }) : null;
  const answer = h("pre", { class: "answer", role: "status", tabindex: 0, "aria-label": "Answer" });
  const send = async (event) => {
    event.preventDefault();
    const query = new URLSearchParams(places.filter((one) => one.in === "query" && one.field.value).map((one) => [one.name, one.field.value]));
    const address = places.filter((one) => one.in === "path").reduce((at, one) => at.replace(`{${one.name}}`, encodeURIComponent(one.field.value)), path);
    try {
      const got = await fetch(`.${address}${query.size ? `?${query}` : ""}`, { method, headers: { ...headers(), ...(kind ? { "content-type": kind } : {}) }, body: text ? text.value : undefined });
      const told = await got.text();
      answer.textContent = `${got.status} ${got.statusText}\n${shown(told)}`;
    } catch (error) {
      answer.textContent = error.message;
    }
  };
  return h("form", { class: "try", on: { submit: send } }, h("h3", {}, "Try it"),
    places.length ? h("div", { class: "controls" }, places.map((one) => h("label", { class: "field" }, h("span", {}, one.name), one.field))) : null, text, h("div", { class: "controls" }, h("button", { class: "main" }, `Send ${method}`)), answer);
}

function choose(one) {
  if (!one.schema.enum) return h("input", { type: "text" });
  return h("select", {}, one.required ? null : h("option", { value: "" }, ""), one.schema.enum.map((name) => h("option", { value: name }, name)));
}

function example(found, path, schema) {
  const needed = resolved(found, schema).required ?? [];
  if (path === "/models/{name}") return '{"text": "Time flies.", "confidence": false}';
  return needed.length ? JSON.stringify(Object.fromEntries(needed.map((name) => [name, null])), null, 1) : "{}";
}

function shown(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1).slice(0, 20_000);
  } catch {
    return text.slice(0, 20_000);
  }
}

start();
