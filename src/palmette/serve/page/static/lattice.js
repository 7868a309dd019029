// The search of a chain in the browser, so that the path moves at once when a label is fixed: exact, and by a beam.
// The record has the scores of the library (`own`, `edges`, of order 2 `triples`); null stands for what is forbidden.

import { solveSingles } from "./lattice_singles.js";
import { solvePairs } from "./lattice_pairs.js";

const NEVER = -Infinity;

const numbers = (row) => Float64Array.from(row, (value) => value ?? NEVER);

export class Lattice {
  constructor(record) {
    this.record = record;
    this.n = record.tokens.length;
    this.H = record.states.length;
    this.exact = record.order === 0 || (record.edges !== null && (record.order === 1 || Boolean(record.triples)));
    this.own = record.own.map(numbers);
    this.tables = record.edges?.map((table) => table.map(numbers)) ?? null;
    this.triples = record.triples?.map((table) => table.map((rows) => rows.map(numbers))) ?? null;
    this.free = new Float64Array(this.H); // of order 0: no transition has a weight
    this.solve(record.allowed ?? {});
  }

  // The scores of going from a state to all states at a token; of order 2 what the state before adds to that.
  edges(i, g) {
    return this.tables === null ? this.free : this.tables[this.tables.length > 1 ? i : 0][g];
  }

  turns(i, f, g) {
    return this.triples === null ? this.free : this.triples[this.triples.length > 1 ? i : 0][f][g];
  }

  allows(i, h) {
    const fixed = this.allowed[i];
    if (fixed === undefined) return true;
    const label = this.label(h);
    return Array.isArray(fixed) ? fixed.includes(label) : fixed === label;
  }

  // With these labels fixed: best path, its score, and how far each state is behind. Without the tables of
  // transitions, what the record has holds.
  solve(allowed) {
    this.allowed = allowed;
    if (!this.exact) {
      this.behind = this.record.behind.map((row) => row.map((value) => value ?? Infinity));
      this.best = this.record.best;
      this.score = this.record.score;
      return;
    }
    this.now = this.own.map((row, i) => row.map((value, h) => (this.allows(i, h) ? value : NEVER)));
    this.found = this.triples === null ? solveSingles(this) : solvePairs(this);
    this.score = Math.max(...this.found.scores);
    this.behind = this.now.map((row, i) => Array.from(row, (_, h) => this.score - this.found.reach(i, h)));
    this.best = this.score === NEVER ? [] : this.through(this.n - 1, this.found.scores.indexOf(this.score));
  }

  // The state that leads to a state at a token, from the second token on; -1 if none does.
  before(i, h) {
    return this.exact ? this.found.before(i, h) : -1;
  }

  // The best path through a state; empty if there is none or nobody knows.
  through(i, h) {
    if (!this.exact) return this.record.paths.find((path) => path.states[i] === h)?.states ?? [];
    return Number.isFinite(this.found.reach(i, h)) ? this.found.through(i, h) : [];
  }

  // What led into a state: the score of each way, the best one first.
  ways(i, h) {
    return this.exact && i > 0 ? this.found.ways(i, h).sort((a, b) => b.score - a.score) : [];
  }

  // What a beam of some width keeps. On equal scores the extension of the better prefix comes first, then the smaller
  // state. `recombine`: of prefixes whose ends are alike for all that follows, only the best one is kept.
  beam(width, recombine) {
    const { order } = this.record, found = { width, kept: [], scores: [], has_best: [] };
    let prefixes = [{ score: 0, path: [] }];
    for (let i = 0; i < this.n; i += 1) {
      const next = [];
      for (const { score, path } of prefixes) {
        const g = path.at(-1), f = path.at(-2);
        const edges = i > 0 ? this.edges(i, g) : this.free, turns = i > 1 ? this.turns(i, f, g) : this.free;
        this.now[i].forEach((own, h) => {
          const sum = score + own + edges[h] + turns[h];
          if (sum !== NEVER) next.push({ score: sum, path: [...path, h] });
        });
      }
      next.sort((a, b) => b.score - a.score);
      const ends = new Set(), kept = [];
      for (const one of next) {
        const end = order ? one.path.slice(-order).join() : "";
        if (recombine && ends.has(end)) continue;
        ends.add(end);
        kept.push(one);
        if (kept.length === width) break;
      }
      prefixes = kept;
      found.kept.push(kept.map((one) => one.path[i]));
      found.scores.push(kept.map((one) => one.score));
      found.has_best.push(kept.some((one) => one.path.every((h, k) => h === this.best[k])));
    }
    return found;
  }

  label(h) {
    return this.record.labels[this.record.label_of[h]];
  }

  // The states that come nearest to the best path anywhere, in the model's order; those of the paths always.
  nearest(most) {
    const always = new Set([...this.best, ...this.record.best, ...(this.record.paths[1]?.states ?? [])]);
    for (const label of Object.values(this.allowed).flat()) {
      const first = this.record.labels.indexOf(label);
      this.record.label_of.forEach((y, h) => y === first && always.add(h));
    }
    const near = Array.from({ length: this.H }, (_, h) => this.record.behind.reduce((low, row) => Math.min(low, row[h] ?? Infinity), Infinity));
    const order = near.map((_, h) => h).filter((h) => Number.isFinite(near[h]) || always.has(h));
    order.sort((a, b) => always.has(b) - always.has(a) || near[a] - near[b]);
    return order.slice(0, Math.max(most, always.size)).sort((a, b) => a - b);
  }
}
