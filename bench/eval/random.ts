/** Random choices that are the same for the same seed, on every machine. */
export interface Random {
  /** A whole number from `from` to `to`, both included. */
  integer(from: number, to: number): number;
  pick<T>(from: readonly T[]): T;
  /** `count` different members, in random order. */
  sample<T>(from: readonly T[], count: number): T[];
}

/** Mulberry32: 32 bits of state are plenty for a few thousand choices. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    integer,
    pick(from) {
      const chosen = from[integer(0, from.length - 1)];
      if (chosen === undefined) throw new RangeError('there is nothing to pick from');
      return chosen;
    },
    sample(from, count) {
      const left = [...from];
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(integer(0, left.length - 1), 1),
      ).flat();
    },
  };
}
