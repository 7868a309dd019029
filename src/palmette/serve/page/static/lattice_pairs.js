// The max-sum recursions of a chain of order 2, over pairs of states (g before h), at place g * H + h:
//   A[i, g, h] = own[i, h] + edge[i, g, h] + max over f of A[i-1, f, g] + turn[i, f, g, h]
//   B[i, f, g] = max over h of turn[i+1, f, g, h] + edge[i+1, g, h] + own[i+1, h] + B[i+1, g, h]
// At the first token a state stands with itself; turns begin at the third.

const NEVER = -Infinity;

export function solvePairs(lattice) {
  const { n, H, now: own } = lattice, none = new Float64Array(H);
  const turns = (i, f, g) => (i > 1 ? lattice.turns(i, f, g) : none);
  const step = (i, g) => lattice.edges(i, g).map((edge, h) => edge + own[i][h]);
  const first = new Float64Array(H * H).fill(NEVER);
  for (let h = 0; h < H; h += 1) first[h * H + h] = own[0][h];
  const forward = [first], back = [];
  for (let i = 1; i < n; i += 1) {
    const before = forward[i - 1], here = new Float64Array(H * H).fill(NEVER), from = new Int32Array(H * H).fill(-1);
    for (let f = 0; f < H; f += 1) {
      for (let g = 0; g < H; g += 1) {
        const start = before[f * H + g];
        if (start === NEVER) continue;
        const turn = turns(i, f, g);
        for (let h = 0, at = g * H; h < H; h += 1, at += 1) {
          const way = start + turn[h];
          if (way > here[at]) {
            here[at] = way;
            from[at] = f;
          }
        }
      }
    }
    for (let g = 0; g < H; g += 1) step(i, g).forEach((value, h) => (here[g * H + h] += value));
    forward.push(here);
    back.push(from);
  }
  const backward = Array.from({ length: n }, () => new Float64Array(H * H));
  const next = Array.from({ length: n }, () => new Int32Array(H * H).fill(-1));
  for (let i = n - 2; i >= 0; i -= 1) {
    for (let g = 0; g < H; g += 1) {
      const after = step(i + 1, g).map((value, h) => value + backward[i + 1][g * H + h]);
      for (let f = 0; f < H; f += 1) {
        const turn = turns(i + 1, f, g);
        let top = NEVER, at = -1;
        for (let h = 0; h < H; h += 1) {
          const way = turn[h] + after[h];
          if (way > top) {
            top = way;
            at = h;
          }
        }
        backward[i][f * H + g] = top;
        next[i][f * H + g] = at;
      }
    }
  }
  // The best state before h at token i, and the score of the best path through the two.
  const best = (i, h) => {
    let top = NEVER, at = -1;
    for (let g = 0; g < H; g += 1) {
      const score = forward[i][g * H + h] + backward[i][g * H + h];
      if (score > top) {
        top = score;
        at = g;
      }
    }
    return [top, at];
  };
  return {
    scores: Float64Array.from({ length: H }, (_, h) => best(n - 1, h)[0]),
    reach: (i, h) => best(i, h)[0],
    before: (i, h) => best(i, h)[1],
    through(i, h) {
      const g = best(i, h)[1], path = i > 0 ? [g, h] : [h];
      for (let k = i; k > 1; k -= 1) path.unshift(back[k - 1][path[0] * H + path[1]]);
      for (let k = i; k < n - 1; k += 1) path.push(next[k][(path.at(-2) ?? h) * H + path.at(-1)]);
      return path;
    },
    ways: (i, h) => Array.from({ length: H }, (_, g) => {
      const score = forward[i][g * H + h] - own[i][h], f = back[i - 1][g * H + h];
      return Number.isFinite(score) ? { from: g, edge: lattice.edges(i, g)[h] + turns(i, f, g)[h], score } : { from: g, edge: NEVER, score: NEVER };
    }),
  };
}
