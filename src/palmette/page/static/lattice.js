// The max-sum recursions of a chain of order 0 or 1, so that the best path moves at once when a label is fixed.
//   A[i, h] = own[i, h] + max over g of A[i-1, g] + edge[i, g, h]         B[i, g] = max over h of edge + own + B[i+1, h]
// The record has the scores of the library; None (null) stands for what is forbidden.

const NEVER = -Infinity;

export class Lattice {
  constructor(record) {
    this.record = record;
    this.n = record.tokens.length;
    this.H = record.states.length;
    this.exact = record.order === 0 || record.edges !== null;
    this.own = record.own.map((row) => Float64Array.from(row, (value) => value ?? NEVER));
    this.tables = record.edges?.map((table) => table.map((row) => Float64Array.from(row, (value) => value ?? NEVER))) ?? null;
    this.solve(record.allowed ?? {});
  }

  edge(i, g, h) {
    return this.tables === null ? 0 : this.tables[this.tables.length > 1 ? i : 0][g][h];
  }

  allows(i, h) {
    const fixed = this.allowed[i];
    if (fixed === undefined) return true;
    const label = this.record.labels[this.record.label_of[h]];
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
    const { n, H } = this;
    const own = this.own.map((row, i) => row.map((value, h) => (this.allows(i, h) ? value : NEVER)));
    this.forward = [Float64Array.from(own[0])];
    this.back = [];
    const free = new Float64Array(H); // of order 0: no transition has a weight
    const row = (i, g) => (this.tables === null ? free : this.tables[this.tables.length > 1 ? i : 0][g]);
    for (let i = 1; i < n; i += 1) {
      const before = this.forward[i - 1], now = new Float64Array(H).fill(NEVER), from = new Int32Array(H).fill(-1);
      for (let g = 0; g < H; g += 1) {
        const start = before[g], edges = row(i, g);
        if (start === NEVER) continue;
        for (let h = 0; h < H; h += 1) {
          const way = start + edges[h];
          if (way > now[h]) {
            now[h] = way;
            from[h] = g;
          }
        }
      }
      for (let h = 0; h < H; h += 1) {
        now[h] += own[i][h];
        if (now[h] === NEVER) from[h] = -1;
      }
      this.forward.push(now);
      this.back.push(from);
    }
    this.backward = Array.from({ length: n }, () => new Float64Array(H));
    this.next = Array.from({ length: n }, () => new Int32Array(H).fill(-1));
    for (let i = n - 2; i >= 0; i -= 1) {
      const after = this.backward[i + 1].map((value, h) => value + own[i + 1][h]);
      for (let g = 0; g < H; g += 1) {
        const edges = row(i + 1, g);
        let top = NEVER, at = -1;
        for (let h = 0; h < H; h += 1) {
          const way = edges[h] + after[h];
          if (way > top) {
            top = way;
            at = h;
          }
        }
        this.backward[i][g] = top;
        this.next[i][g] = at;
      }
    }
    const last = this.forward[n - 1];
    this.score = last.reduce((top, value) => Math.max(top, value), NEVER);
    this.behind = this.forward.map((row, i) => Array.from(row, (value, h) => this.score - (value + this.backward[i][h])));
    this.best = this.score === NEVER ? [] : this.through(n - 1, last.indexOf(this.score));
  }

  // The best path through a state; empty if there is none or nobody knows.
  through(i, h) {
    if (!this.exact || !Number.isFinite(this.forward[i][h] + this.backward[i][h])) {
      return this.exact ? [] : (this.record.paths.find((path) => path.states[i] === h)?.states ?? []);
    }
    const path = [h];
    for (let k = i, at = h; k > 0; k -= 1) path.unshift((at = this.back[k - 1][at]));
    for (let k = i, at = h; k < this.n - 1; k += 1) path.push((at = this.next[k][at]));
    return path;
  }

  // What led into a state: the score of each way, the best one first.
  ways(i, h) {
    if (!this.exact || i === 0) return [];
    const found = [];
    for (let g = 0; g < this.H; g += 1) {
      const edge = this.edge(i, g, h);
      found.push({ from: g, edge, score: this.forward[i - 1][g] + edge });
    }
    return found.sort((a, b) => b.score - a.score);
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
