// The max-sum recursions of a chain of order 0 or 1:
//   A[i, h] = own[i, h] + max over g of A[i-1, g] + edge[i, g, h]         B[i, g] = max over h of edge + own + B[i+1, h]

const NEVER = -Infinity;

export function solveSingles(lattice) {
  const { n, H, now: own } = lattice;
  const forward = [Float64Array.from(own[0])], back = [];
  for (let i = 1; i < n; i += 1) {
    const before = forward[i - 1], here = new Float64Array(H).fill(NEVER), from = new Int32Array(H).fill(-1);
    for (let g = 0; g < H; g += 1) {
      const start = before[g], edges = lattice.edges(i, g);
      if (start === NEVER) continue;
      for (let h = 0; h < H; h += 1) {
        const way = start + edges[h];
        if (way > here[h]) {
          here[h] = way;
          from[h] = g;
        }
      }
    }
    for (let h = 0; h < H; h += 1) {
      here[h] += own[i][h];
      if (here[h] === NEVER) from[h] = -1;
    }
    forward.push(here);
    back.push(from);
  }
  const backward = Array.from({ length: n }, () => new Float64Array(H));
  const next = Array.from({ length: n }, () => new Int32Array(H).fill(-1));
  for (let i = n - 2; i >= 0; i -= 1) {
    const after = backward[i + 1].map((value, h) => value + own[i + 1][h]);
    for (let g = 0; g < H; g += 1) {
      const edges = lattice.edges(i + 1, g);
      let top = NEVER, at = -1;
      for (let h = 0; h < H; h += 1) {
        const way = edges[h] + after[h];
        if (way > top) {
          top = way;
          at = h;
        }
      }
      backward[i][g] = top;
      next[i][g] = at;
    }
  }
  return {
    scores: forward[n - 1],
    reach: (i, h) => forward[i][h] + backward[i][h],
    before: (i, h) => back[i - 1][h],
    through(i, h) {
      const path = [h];
      for (let k = i, at = h; k > 0; k -= 1) path.unshift((at = back[k - 1][at]));
      for (let k = i, at = h; k < n - 1; k += 1) path.push((at = next[k][at]));
      return path;
    },
    ways: (i, h) => Array.from({ length: H }, (_, g) => ({ from: g, edge: lattice.edges(i, g)[h], score: forward[i - 1][g] + lattice.edges(i, g)[h] })),
  };
}
