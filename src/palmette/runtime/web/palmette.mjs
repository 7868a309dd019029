// Tag sentences with a model of Palmette: the runtime in C as WebAssembly, no server, no dependencies.

const FILE = new URL("./", import.meta.url);
const OF_ERRORS = { 1: "file", 2: "damaged", 3: "unsupported", 4: "input", 5: "memory" };

export class PalmetteError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "PalmetteError";
    this.code = OF_ERRORS[code] ?? "input";
  }
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  const url = new URL(source, FILE);
  if (url.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return new Uint8Array(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new PalmetteError(1, `${url}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

// Load a model; by default the one beside this module. `model` and `wasm`: an address or bytes.
export async function load({ model = "model.palm", wasm = "palmette.wasm" } = {}) {
  const [code, data] = await Promise.all([bytesOf(wasm), bytesOf(model)]);
  const { instance } = await WebAssembly.instantiate(code, {});
  instance.exports._initialize?.();
  return new Tagger(instance.exports, data);
}

export class Tagger {
  #call; #model; #sentence; #place; #kept = [0, 0];

  constructor(call, data) {
    this.#call = call;
    this.#model = call.malloc(data.length + 8);
    if (!this.#model) throw new PalmetteError(5, "memory ran out");
    const aligned = (this.#model + 7) & ~7;
    this.#bytes(aligned, data.length).set(data);
    const out = call.malloc(512);
    const failed = call.palmette_open_memory(aligned, data.length, out, out + 8, 400);
    const opened = new DataView(call.memory.buffer).getUint32(out, true), message = failed ? this.#text(out + 8) : "";
    call.free(out);
    if (failed) {
      call.free(this.#model);
      throw new PalmetteError(failed, message);
    }
    this.#place = opened;
    this.#sentence = call.palmette_sentence_new(opened);
    this.labels = Array.from({ length: call.palmette_labels(opened) }, (_, k) => this.#text(call.palmette_label(opened, k)));
    this.scheme = this.#text(call.palmette_scheme(opened)) || null;
    this.columns = call.palmette_columns(opened);
    this.metadata = JSON.parse(this.#text(call.palmette_metadata(opened)));
    this.transitions = this.labels.map((_, g) => this.labels.map((_, h) => call.palmette_transition(opened, g, h)));
  }

  // The best labels of a sentence, with spans and score. A sentence: words, rows of columns, attributes per token (names,
  // or an object of names and values), or a text, which is cut into words.
  tag(sentence) {
    return this.nbest(sentence, 1)[0];
  }

  // The n best label sequences, best first.
  nbest(sentence, n) {
    const text = typeof sentence === "string";
    const offsets = text ? tokenSpans(sentence, this.metadata.reading?.unit === "char") : null;
    let rows = text ? offsets.map(([start, end]) => sentence.slice(start, end)) : sentence;
    const tokens = rows.map((row) => (typeof row === "string" ? row : Array.isArray(row) ? row[0] : ""));
    if (text && this.metadata.reading?.penn_quotes) rows = pennQuotes(sentence, rows, offsets);
    this.#search(rows, n);
    const call = this.#call, found = [];
    for (let k = 0; k < call.palmette_found(this.#sentence); k++) {
      const path = new Int32Array(call.memory.buffer, call.palmette_path(this.#sentence, k), rows.length);
      const labels = Array.from(path, (number) => this.labels[number]);
      const one = { tokens, labels, spans: spansOf(labels, this.labels, this.scheme), score: call.palmette_score(this.#sentence, k) };
      found.push(text ? { ...one, offsets } : one);
    }
    return rows.length ? found : [{ tokens, labels: [], spans: [], score: 0, ...(text ? { offsets } : {}) }];
  }

  // Why: for each token the scores of the labels, and its attributes with a weight for each label.
  explain(sentence) {
    const best = this.tag(sentence), call = this.#call, own = this.#sentence;
    const numbers = this.labels.map((_, h) => h);
    const tokens = best.tokens.map((_, i) => ({
      scores: numbers.map((h) => call.palmette_own(own, i, h)),
      attributes: Array.from({ length: call.palmette_active(own, i) }, (_, k) => ({
        name: this.#text(call.palmette_attribute(own, i, k)),
        weights: numbers.map((h) => call.palmette_weight(own, i, k, h)),
      })),
    }));
    return { ...best, explained: tokens };
  }

  close() {
    if (!this.#place) return;
    this.#call.palmette_sentence_free(this.#sentence);
    this.#call.palmette_close(this.#place);
    for (const at of [this.#model, this.#kept[0]]) this.#call.free(at);
    this.#place = 0;
  }

  #search(rows, n) {
    if (!this.#place) throw new PalmetteError(4, "the tagger is closed");
    if (!Number.isInteger(n) || n < 1) throw new PalmetteError(4, `${n} sequences: it must be a whole number from 1 on`);
    const call = this.#call, own = this.#sentence;
    call.palmette_clear(own);
    for (const row of rows) {
      this.#check(call.palmette_token(own));
      for (const [text, value] of cellsOf(row, this.columns)) {
        const data = encoder.encode(text);
        this.#check(call.palmette_cell(own, this.#written(data), data.length, value));
      }
    }
    this.#check(call.palmette_tag(own, n));
  }

  #written(data) {
    if (data.length > this.#kept[1]) {
      this.#call.free(this.#kept[0]);
      this.#kept = [this.#call.malloc(2 * data.length + 64), 2 * data.length + 64];
      if (!this.#kept[0]) throw new PalmetteError(5, "memory ran out");
    }
    if (data.length) this.#bytes(this.#kept[0], data.length).set(data);
    return this.#kept[0];
  }

  #check(code) {
    if (code) throw new PalmetteError(code, this.#text(this.#call.palmette_message(this.#sentence)));
  }

  #bytes(at, length) {
    return new Uint8Array(this.#call.memory.buffer, at, length);
  }

  #text(at) {
    const all = new Uint8Array(this.#call.memory.buffer);
    return at ? decoder.decode(all.subarray(at, all.indexOf(0, at))) : "";
  }
}

// The cells of a token, or its attributes with values.
function cellsOf(row, columns) {
  if (typeof row === "string") return [[row, 1]];
  if (Array.isArray(row)) return row.map((cell) => [String(cell), 1]);
  if (columns || row === null || typeof row !== "object") throw new PalmetteError(4, "a token is a word, a row of columns or attributes");
  return Object.entries(row).filter(([, value]) => value !== false).map(([name, value]) =>
    typeof value === "string" ? [`${name}:${value}`, 1] : [name, Number(value)]);
}

// --- spans, by conlleval's rules (data/labels/schemes.py) ---

const LETTERS = { B: "B", I: "I", O: "O", E: "E", S: "S", M: "I", L: "E", U: "S", W: "S" };

function lettered(separator) {
  const split = (label) => {
    const at = label.indexOf(separator), written = at < 0 ? label : label.slice(0, at);
    const letter = LETTERS[written] ?? "";
    return !letter || (letter === "O" && at >= 0) ? ["", label] : [letter, at < 0 ? "" : label.slice(at + 1)];
  };
  const writes = (labels) => {
    const parts = labels.map(split);
    if (!parts.every(([letter]) => letter)) return false;
    if (separator === "-") return labels.some((label) => label.includes("-") || label === "B" || label === "I");
    return parts.every(([, type]) => type) && labels.some((label) => "BI".includes(label[0]));
  };
  return { split, writes, outside: null };
}

const GROBID = {
  split: (label) => {
    const begins = label.startsWith("I-<"), field = begins ? label.slice(2) : label;
    return field.length < 3 || field[0] !== "<" || !field.endsWith(">") ? ["", label] : [begins ? "B" : "I", field.slice(1, -1)];
  },
  writes: (labels) => labels.every((label) => GROBID.split(label)[0]) && labels.some((label) => label.startsWith("I-<")),
  outside: "other",
};
const BARE = { split: (label) => (label === "O" ? ["O", ""] : ["I", label]), outside: null };

function notationOf(labels, scheme) {
  if (scheme === "BARE") return BARE;
  if (scheme === "GROBID") return GROBID;
  const chunks = labels.filter((label) => label !== "O");
  const among = [...(labels.includes("O") ? [] : [GROBID]), ...Array.from("-_/:.", lettered)];
  return chunks.length ? among.find((one) => one.writes(chunks)) ?? null : null;
}

function spansOf(labels, all, scheme) {
  const notation = notationOf(all, scheme), found = [];
  if (!notation) return found;
  let start = 0, before = "O", type = "";
  labels.concat("O").forEach((label, i) => {
    const [letter, own] = i < labels.length ? notation.split(label) : ["O", ""];
    if ("OES".includes(before) || "OBS".includes(letter) || type !== own) {
      if (before !== "O" && type !== notation.outside) found.push({ type, start, end: i });
      start = i;
    }
    [before, type] = [letter, own];
  });
  return found;
}

// --- words of a text (data/formats/raw.py) ---

const words = (text) => new Set(text.split(" "));
const ABBREVIATIONS = words(
  "mr mrs ms dr prof rev hon gen col lt capt sgt maj cmdr gov sen rep pres messrs mme mlle st mt ft jr sr inc corp co ltd " +
  "bros dept univ assn etc al cf ca vs viz approx vol pp ph.d jan feb apr aug sep sept oct nov dec tues thurs fri ave blvd " +
  "rd calif ariz colo conn fla okla tenn minn");
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const CHUNK = new RegExp(`[^${SPACE}]+`, "gu"), IS_SPACE = new RegExp(`^[${SPACE}]$`, "u");
const ADDRESS = /(?:https?:\/\/|ftp:\/\/|www\.)\S+|[\p{L}\p{N}_.+-]{1,64}@[\p{L}\p{N}_-]{1,63}(?:\.[\p{L}\p{N}_-]{1,63})+|-[LR][RSC]B-/iuy;
const TAIL = /[.,;:!?'"”’»>\]}]+$/u;
const CLITIC = /(?:n['’]t|['’](?:s|re|ve|ll|d|m))$/iu, CLITIC_ALONE = /['’](?:s|re|ve|ll|d|m)(?![\p{L}\p{N}_])/iuy;
const WORD = "[a0m]+(?:(?:[-&/.'](?=[a0m])|\\\\/(?=[a0m])|(?<=0)[,:](?=0))[a0m]+)*";
const TOKEN = new RegExp(`\\.\\.+|--+|\`\`|''|'00a?(?![a0m])|[-+]?\\.?(?=0)${WORD}|[@#]?${WORD}|s[sm]*|.`, "sy");

function classOf(character) {
  if ("'’".includes(character)) return "'";
  if ("-\u2010\u2011".includes(character)) return "-";
  if (/\p{N}/u.test(character)) return "0";
  if (/\p{M}|\p{Cf}/u.test(character)) return "m";
  if (character === "_" || !/[\p{P}\p{S}]/u.test(character)) return "a";
  return character.codePointAt(0) < 128 ? character : /[\p{So}\p{Sk}\p{Sm}]/u.test(character) ? "s" : "p";
}

function at(pattern, text, place) {
  pattern.lastIndex = place;
  return pattern.exec(text);
}

// Offsets of tokens, in the units of JavaScript's strings.
function tokenSpans(text, characters) {
  const found = [];
  if (characters) {
    let k = 0;
    for (const character of text) {
      if (!IS_SPACE.test(character)) found.push([k, k + character.length]);
      k += character.length;
    }
    return found;
  }
  for (const chunk of text.matchAll(CHUNK)) {
    const own = Array.from(chunk[0]), places = [chunk.index];
    for (const character of own) places.push(places.at(-1) + character.length);
    let before = 0;
    for (const end of endsOf(own)) {
      found.push([places[before], places[end]]);
      before = end;
    }
  }
  return found;
}

function endsOf(chunk) {
  const whole = chunk.join("");
  if (/^\p{L}+$/u.test(whole) && whole.toLowerCase() !== "cannot") return [chunk.length];
  const shape = chunk.map(classOf).join(""), ends = [];
  for (let place = 0; place < chunk.length; place = ends.at(-1)) {
    let stop = special(chunk, shape, place);
    if (!stop) {
      stop = place + at(TOKEN, shape, place)[0].length;
      if ("a0m".includes(shape[stop - 1])) {
        ends.push(...clitics(chunk, place, stop));
        if (shape[stop] === "." && shape[stop + 1] !== "." && isAbbreviation(chunk.slice(place, stop))) stop++;
      }
    }
    ends.push(stop);
  }
  return ends;
}

function special(chunk, shape, place) {
  const rest = chunk.slice(place).join("");
  if (shape[place] === "'") {
    const found = at(CLITIC_ALONE, rest, 0);
    return found ? place + Array.from(found[0]).length : 0;
  }
  const before = place ? chunk[place - 1] : "", found = at(ADDRESS, before + rest, before.length);
  if (!found) return 0;
  let address = found[0].replace(TAIL, "");
  const count = (mark) => address.split(mark).length;
  while (address.endsWith(")") && count("(") < count(")")) address = address.slice(0, -1).replace(TAIL, "");
  return /[\p{L}\p{N}]/u.test(address) ? place + Array.from(address).length : 0;
}

function clitics(chunk, start, end) {
  const cuts = [];
  for (let stop = end; ;) {
    const from = Math.max(start, stop - 3), found = CLITIC.exec(chunk.slice(from, stop).join(""));
    const cut = found ? stop - Array.from(found[0]).length : 0;
    if (!found || cut <= start) {
      if (chunk.slice(start, stop).join("").toLowerCase() === "cannot") cuts.push(start + 3);
      return cuts.reverse();
    }
    cuts.push(stop = cut);
  }
}

function isAbbreviation(word) {
  const text = word.join("");
  if (ABBREVIATIONS.has(text.toLowerCase()) || (word.length === 1 && /\p{Lu}/u.test(text) && text !== "I")) return true;
  return word.length <= 16 && /^(?:a\.)+a$/.test(word.map(classOf).join(""));
}

function pennQuotes(text, tokens, offsets) {
  const space = (character) => IS_SPACE.test(character);
  let open = false;
  return tokens.map((token, k) => {
    const [start, end] = offsets[k];
    const before = start > 0 && !space(text[start - 1]) && !"([{-—".includes(text[start - 1]);
    const after = end < text.length && !space(text[end]);
    if (['"', "“", "”", "„", "``", "''"].includes(token)) {
      open = ["“", "„", "``"].includes(token) || (token === '"' && !before && (after || !open));
      token = open ? "``" : "''";
    } else if (["‘", "’", "'"].includes(token)) token = token === "‘" || (token === "'" && after && !before) ? "`" : "'";
    return token.replaceAll("’", "'");
  });
}
