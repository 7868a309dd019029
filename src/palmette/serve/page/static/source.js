// Where records come from: a server that has the models, or the page itself, which has what was computed beforehand.
// Both have the same methods; `live` says whether a model can be asked something new.

class Live {
  constructor() {
    this.live = true;
    this.token = sessionStorage.getItem("palmette-token");
  }

  async json(path, body, method) {
    const headers = { accept: "application/json" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    let answer;
    try {
      answer = await fetch(path, { method: method ?? (body === undefined ? "GET" : "POST"), headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      throw new Error("The server does not answer. Is `palmette serve` still running?");
    }
    const found = await answer.json().catch(() => null);
    if (answer.status === 401) {
      const error = new Error("The server wants a token (the one given to `palmette serve --token`).");
      error.unauthorised = true;
      throw error;
    }
    if (!answer.ok) throw new Error(told(found) ?? `The server answered ${answer.status}.`);
    return found;
  }

  // A file to keep, with the name that the server gives it.
  async file(path) {
    const answer = await fetch(path, { headers: this.token ? { authorization: `Bearer ${this.token}` } : {} });
    if (!answer.ok) throw new Error(told(await answer.json().catch(() => null)) ?? `The server answered ${answer.status}.`);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "corrections.txt";
    return { name, data: await answer.blob() };
  }

  authorise(token) {
    this.token = token;
    sessionStorage.setItem("palmette-token", token);
  }

  async models() {
    const found = await this.json("models");
    return (Array.isArray(found) ? found : found.models).map((model) => (typeof model === "string" ? { name: model } : model));
  }

  view(model, view, request = {}) {
    return this.json(`models/${encodeURIComponent(model)}/view/${view}`, request);
  }

  sentences() {
    return [];
  }

  // The log of a training that the server watches, from a record on; null if there is none.
  async training(after) {
    try {
      return await this.json(`training?after=${after}`);
    } catch {
      return null;
    }
  }
}

// What an error answer says, whichever of the usual shapes it has.
function told(found) {
  const error = found?.error ?? found?.detail ?? found?.message;
  const text = typeof error === "string" ? error : error?.message;
  const hint = error?.hint ?? found?.hint;
  return text && hint ? `${text} (${hint})` : text;
}

class Embedded {
  constructor(records) {
    this.live = false;
    this.records = records;
  }

  async models() {
    return this.records.models;
  }

  async view(model, view, request = {}) {
    const own = this.records.views[model] ?? {};
    const key = keyOf(view, request);
    const one = request.number === undefined ? own[key] : own.sentences?.[request.number]?.[key];
    if (one === undefined) {
      throw new Error("This file does not have that: it shows what was computed when it was written.");
    }
    return one;
  }

  sentences(model) {
    return (this.records.views[model]?.sentences ?? []).map((one, number) => ({ number, text: one.text }));
  }
}

// An explanation of one token has a record of its own, and so has a comparison with each other model.
function keyOf(view, request) {
  if (view === "compare") return `compare@${request.other}`;
  return view === "explanation" && request.token !== undefined && request.token !== null ? `explanation@${request.token}` : view;
}

export function openSource() {
  const island = document.getElementById("palmette-records");
  return island ? new Embedded(JSON.parse(island.textContent)) : new Live();
}
