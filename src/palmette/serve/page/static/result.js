// The first view: a text in, and what the model finds in it, as people read it: coloured spans, tags, trees or classes.
// Confidence is shown on pointing at something or moving to it by the keyboard; Enter or a click asks why.

import { h, replace, heading, problem, latest, section } from "./dom.js";
import { fixed, percent, counted } from "./format.js";
import { arcsPicture } from "./arcs.js";
import { Tip } from "./tip.js";

const HUES = 6, UNSURE = 0.7;
const LINKS = [["explanation", "why", "Why?"], ["marginals", "sure", "How sure?"], ["trellis", "search", "Search"]];

export function resultView(app) {
  const body = h("div", { class: "result" }), tip = new Tip(body);
  const ask = latest(() => gathered(app), (found) => {
    app.sentences.found(found.sentences.map((one) => one.request));
    tip.hide();
    replace(body, KINDS[found.kind](app, found, tip), tip.node);
  }, (error) => replace(body, problem(error)));
  const load = () => (app.sentences.hasText() ? ask() : replace(body, app.noSentence()));
  app.onSentence(load);
  load();
  return h("article", {}, heading("Result", LEADS[app.about.kind] ?? ""), app.sentences.textBar(), body);
}

const LEADS = {
  tagger: "What the model finds in a text. Point at something, or move there with Tab, to see how sure it is; click it to see why.",
  parser: "The tree of each sentence. Click the name of an arc to see why it was made.",
  pipeline: "Words, tags and trees of each sentence. Click the name of an arc to see why it was made.",
  classifier: "The class of each sentence.",
};

// All sentences, each with the request by which other views look at it.
async function gathered(app) {
  if (app.source.live) {
    const found = await app.view("result", app.sentences.whole());
    const request = (one) => one.request ?? { text: found.text.slice(one.offsets[0][0], one.offsets.at(-1)[1]) };
    return { ...found, text: [...(found.text ?? "")], sentences: found.sentences.map((one) => ({ ...one, request: request(inUnits(one, found.text)) })) };
  }
  const sentences = await Promise.all(app.sentences.list.map(async ({ number }) => ({ ...(await app.view("result", { number })), number })));
  return { ...sentences[0], text: null, sentences: sentences.flatMap((one) => one.sentences.map((own) => ({ ...own, offsets: null, request: { number: one.number } }))) };
}

// Offsets count code points, as Python does; those of JavaScript's strings count UTF-16 units.
function inUnits(one, text) {
  if (!one.offsets || !/[\u{10000}-\u{10FFFF}]/u.test(text)) return one;
  const points = [...text];
  const unit = (k) => points.slice(0, k).join("").length;
  return { ...one, offsets: [[unit(one.offsets[0][0]), 0], [0, unit(one.offsets.at(-1)[1])]] };
}

// The text between two tokens, and before the first one of a sentence.
function between(found, from, to) {
  return found.text.length ? found.text.slice(from, to).join("") : null;
}

// Running text: `draw` makes the elements of a sentence, with a function that gives the text before token i.
function running(found, draw) {
  let at = 0;
  const pieces = found.sentences.map((one, s) => {
    const before = (i) => {
      if (!found.text || !one.offsets) return i ? " " : s ? "\n" : "";
      const told = between(found, at, one.offsets[i][0]) ?? "";
      at = one.offsets[i][1];
      return told;
    };
    return draw(one, before);
  });
  return h("div", { class: "result-text" }, pieces, found.text ? found.text.slice(at).join("") : "");
}

function spansResult(app, found, tip) {
  const types = [...(app.about.types ?? [])], count = new Map();
  for (const span of found.sentences.flatMap((one) => one.spans)) count.set(span.type, (count.get(span.type) ?? 0) + 1);
  for (const type of count.keys()) if (!types.includes(type)) types.push(type);
  const text = running(found, (one, before) => {
    const made = [];
    let inside = null;
    one.tokens.forEach((token, i) => {
      const gap = before(i), span = one.spans.find((each) => each.start <= i && i < each.end);
      if (inside && span === inside.span) inside.node.append(gap, token);
      else {
        made.push(gap);
        inside = span ? { span, node: spanButton(app, found, one, span, types.indexOf(span.type), tip) } : null;
        if (inside) inside.node.append(token);
        made.push(inside ? inside.node : tokenButton(app, found, one, i, token, tip));
      }
      if (inside && i === inside.span.end - 1) inside.node.append(h("small", {}, inside.span.type || "span"));
    });
    return made;
  });
  return [h("ul", { class: "legend", "aria-label": "Types" }, types.filter((type) => count.has(type)).map((type) => h("li", {}, h("i", { class: `swatch hue${types.indexOf(type) % HUES}` }), type || "span", h("small", {}, count.get(type))))),
    count.size ? null : h("p", { class: "note" }, "No span is found in this text."), text, unsureNote(found)];
}

function spanButton(app, found, one, span, hue, tip) {
  const words = one.tokens.slice(span.start, span.end).join(" ");
  const i = one.labels.findIndex((_, k) => k >= span.start && k < span.end && one.others?.[k]?.length);
  return button(app, one, span.start, `span hue${hue % HUES}${unsure(span.confidence)}`, { name: words, label: span.type || "span", share: span.confidence, others: i < 0 ? [] : one.others[i], told: i > span.start ? one.tokens[i] : null, probabilities: found.probabilities }, tip);
}

function tokenButton(app, found, one, i, token, tip) {
  if (one.confidence === null || one.confidence[i] >= UNSURE) return token;
  return Object.assign(button(app, one, i, "token unsure", { name: token, label: one.labels[i], share: one.confidence[i], others: one.others[i], probabilities: found.probabilities }, tip), { textContent: token });
}

function tagsResult(app, found, tip) {
  const order = app.about.labels ?? [];
  const text = running(found, (one, before) => one.tokens.map((token, i) => {
    const share = one.confidence?.[i] ?? null;
    const node = button(app, one, i, `tagged hue${order.indexOf(one.labels[i]) % HUES}${unsure(share)}`, { name: token, label: one.labels[i], share, others: one.others?.[i] ?? [], probabilities: found.probabilities }, tip);
    node.append(h("span", {}, token), h("small", {}, one.labels[i]));
    return [/\n/u.test(before(i)) ? h("span", { class: "break" }) : null, node];
  }));
  text.classList.add("tags");
  return [text, unsureNote(found)];
}

function unsure(share) {
  return share !== null && share < UNSURE ? " unsure" : "";
}

function unsureNote(found) {
  const any = found.sentences.some((one) => one.confidence?.some((share) => share < UNSURE));
  return any ? h("p", { class: "note" }, `A dotted line: the model is less than ${100 * UNSURE}% sure.`) : null;
}

// Something that was found: it tells more when it is pointed at, and is a way to another view.
function button(app, one, token, kind, about, tip) {
  const links = LINKS.filter(([view]) => app.has(view)).map(([, key, name]) => ({ name, act: () => app.open(key, one.request, { token }) }));
  const share = about.share === null ? null : percent(about.share);
  const node = h("button", { class: `found-here ${kind}`, "aria-label": `${about.name}: ${about.label}${share === null ? "" : `, ${share} sure`}`, on: { click: () => links[0]?.act() } });
  tip.over(node, () => [h("p", {}, h("strong", {}, about.label), share === null ? null : [" ", h("b", {}, share), about.probabilities ? "" : " confidence"]),
    about.others.length ? h("p", { class: "note" }, about.told ? `at \u201c${about.told}\u201d else ` : "else ", about.others.map(([label, value]) => `${label} ${percent(value)}`).join(", ")) : null,
    links.length ? h("p", { class: "tip-links" }, links.map(({ name, act }) => h("button", { class: "link", tabindex: -1, on: { click: act } }, name))) : h("p", { class: "note" }, "This model cannot say how sure it is.")]);
  return node;
}

function treesResult(app, found) {
  const lacks = found.sentences[0].lacks ?? [];
  const caution = lacks.length ? h("p", { class: "caution", role: "note" }, h("strong", {}, "These trees may well be wrong. "), `The parser reads ${lacks.join(" and ")}, which a typed sentence does not have. Start the server with a tagger: --with ${lacks[0]}=tagger.palm`) : null;
  return [caution, h("ol", { class: "result-trees" }, found.sentences.map((one, k) => h("li", {}, sentenceTree(app, one, k))))];
}

function sentenceTree(app, one, k) {
  const tags = one.upos ?? one.xpos ?? [];
  const above = { heads: one.heads ?? one.tokens.map(() => -1), relations: one.relations ?? [] };
  const why = one.heads && app.has("tree") ? (word) => app.open("tree", one.request, { word }) : null;
  const rows = [["lemma", "Lemma"], ["upos", "UPOS"], ["xpos", "XPOS"], ["feats", "Features"]].filter(([field]) => one[field]);
  return [h("div", { class: "scroll arcs-frame", tabindex: 0, role: "group", "aria-label": `Sentence ${k + 1}` }, arcsPicture({ words: one.tokens, tags, above, ask: why })),
    rows.length > 1 ? h("details", {}, h("summary", {}, "Lemmas, tags and features"), h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `The words of sentence ${k + 1}` }, h("table", { class: "words" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Word"), rows.map(([, name]) => h("th", { scope: "col" }, name)), one.heads ? [h("th", { scope: "col" }, "Head"), h("th", { scope: "col" }, "Relation")] : null)),
      h("tbody", {}, one.tokens.map((token, i) => h("tr", {}, h("th", { scope: "row" }, token), rows.map(([field]) => h("td", {}, one[field][i] === "_" ? "" : one[field][i].replaceAll("|", " "))),
        one.heads ? [h("td", {}, one.heads[i] ? one.tokens[one.heads[i] - 1] : "\u2013"), h("td", {}, one.relations[i])] : null)))))) : null];
}

function classesResult(app, found) {
  const count = new Map();
  for (const one of found.sentences) count.set(one.class, (count.get(one.class) ?? 0) + 1);
  return section(counted(found.sentences.length, "sentence"), [...count].map(([name, n]) => `${name}: ${n}`).join(", "),
    h("ol", { class: "result-classes" }, found.sentences.map((one) => h("li", {}, h("button", { class: `chip hue${app.about.classes.indexOf(one.class) % HUES}`, on: { click: () => app.open("class", one.request) }, "aria-label": `${one.class}, score ${fixed(one.score)}: look at the class of this sentence` }, one.class, h("small", {}, fixed(one.score))), h("span", {}, one.tokens.join(" "))))));
}

const KINDS = { spans: spansResult, tags: tagsResult, trees: treesResult, classes: classesResult };
