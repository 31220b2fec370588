import assert from 'node:assert/strict';
import fc from 'fast-check';
import { collectGarbage } from './collect-garbage.ts';
import { isSlow } from './fair-time.ts';

/** A parser of untrusted input, and the material for hostile texts. */
export interface Boundary {
  name: string;
  /** Texts as they should be: they are cut, doubled and mixed with the pieces. */
  samples: readonly (string | Buffer)[];
  /** What the grammar is made of. */
  pieces: readonly string[];
  /** Reads it. What it gives is checked by itself; what it throws, by `allows`. */
  read(bytes: Buffer): unknown;
  /** Whether an error is one that its callers know. */
  allows(error: unknown): boolean;
  /** Of the usual number of cases; 1 by default. */
  share?: number;
  /** The thread's own time for one case, in milliseconds; `MAX_MS` by default. */
  maxMs?: number;
}

/** Cases per boundary: few by default; `FUZZ_RUNS` (set by `npm run fuzz`) overrides it. */
export const RUNS = Number(process.env.FUZZ_RUNS ?? 120);
/** A fixed seed, so that no commit fails by chance; `FUZZ_SEED` and `npm run fuzz` use others. */
export const SEED = Number(process.env.FUZZ_SEED ?? 21_644_775);

/** Limits for one case of at most `MAX_LENGTH` characters: CPU time and memory. */
const MAX_LENGTH = 64 * 1024;
const MAX_MS = 100;
const MAX_BYTES = 64 * 1024 * 1024;

/** Texts that resemble valid input of the boundary, and many that do not. */
export function hostileText({ samples, pieces }: Pick<Boundary, 'samples' | 'pieces'>): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.constantFrom('\0', '\ufeff', '\ud800', '\u202e', '\r\n', '\n', '\t', ' ', 'é', '😀') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  );
  const few = fc.array(piece, { maxLength: 4 }).map((all) => all.join(''));
  const mixed = fc.array(piece, { maxLength: 60 }).map((all) => Buffer.from(all.join('')));
  const grown = fc
    .tuple(few, fc.array(piece, { minLength: 1, maxLength: 3 }), fc.nat({ max: MAX_LENGTH }), few, few)
    .map(([start, unit, length, middle, end]) => {
      const one = unit.join('') || ' ';
      const half = one.repeat(Math.ceil(length / 2 / one.length));
      return Buffer.from(`${start}${half}${middle}${half}${end}`).subarray(0, MAX_LENGTH);
    });
  const change = fc.tuple(fc.nat(), fc.nat({ max: 40 }), fc.constantFrom('cut', 'double', 'write', 'flip'), few);
  const mutated = fc
    .tuple(fc.constantFrom(...samples), fc.array(change, { minLength: 1, maxLength: 6 }))
    .map(([sample, changes]) => changes.reduce(mutate, Buffer.from(sample)));
  const noise = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof(
    { weight: 4, arbitrary: mixed },
    { weight: 3, arbitrary: grown },
    { weight: 4, arbitrary: mutated },
    { weight: 1, arbitrary: noise },
  );
}

function mutate(bytes: Buffer, [place, length, how, text]: [number, number, string, string]): Buffer {
  const at = place % (bytes.length + 1);
  const end = Math.min(bytes.length, at + length);
  if (how === 'cut') return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
  if (how === 'double') return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
  if (how === 'write') return Buffer.concat([bytes.subarray(0, at), Buffer.from(text), bytes.subarray(end)]);
  const flipped = Buffer.from(bytes);
  for (let n = at; n < end; n++) flipped[n] = (flipped[n] ?? 0) ^ (1 << (length % 8));
  return flipped;
}

/** Checks that the boundary reads hostile texts within limits, and returns a value or throws an expected error. */
export async function fuzz(boundary: Boundary): Promise<void> {
  const property = fc.asyncProperty(hostileText(boundary), async (bytes) => {
    let spent = await costOf(boundary, bytes);
    // The first time of a machine that does other work, or collects garbage, says little.
    for (let again = 0; again < 3 && isTooMuch(boundary, spent); again++) {
      collectGarbage();
      spent = await costOf(boundary, bytes);
    }
    assert.ok(!isTooMuch(boundary, spent), `${Math.round(spent.ms)} ms, ${Math.round(spent.bytes / 1e6)} MB`);
  });
  await fc.assert(property, {
    seed: SEED,
    numRuns: Math.max(1, Math.ceil(RUNS * (boundary.share ?? 1))),
    // A case that costs much would be tried again hundreds of times to be made smaller.
    endOnFailure: true,
    reporter: (details) => {
      if (!details.failed) return;
      const shown = details.counterexample?.[0].toString('latin1') ?? '';
      const text = `${JSON.stringify(shown.slice(0, 600))} (${shown.length} bytes)`;
      throw new Error(`FUZZ_SEED=${SEED}: ${text}`, { cause: details.errorInstance });
    },
  });
}

async function costOf({ read, allows }: Boundary, bytes: Buffer): Promise<{ ms: number; bytes: number }> {
  const before = process.memoryUsage();
  const began = process.threadCpuUsage();
  try {
    await read(bytes);
  } catch (error) {
    if (!allows(error)) throw error;
  }
  const { user, system } = process.threadCpuUsage(began);
  const after = process.memoryUsage();
  return {
    ms: (user + system) / 1000,
    bytes: after.heapUsed + after.external - before.heapUsed - before.external,
  };
}

function isTooMuch({ maxMs = MAX_MS }: Boundary, { ms, bytes }: { ms: number; bytes: number }): boolean {
  return bytes > MAX_BYTES || isSlow(ms, maxMs);
}
