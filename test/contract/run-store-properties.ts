import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { AppendResult, RunStore } from '../../src/store/run-store.ts';
import { claimedRun, ending, frame, LiveReader, readAll, type StoreFixture } from './run-store-fixture.ts';

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom('', '\n\n', '\r\n', 'data: \n\n'));

/** What holds for every run, in any order of operations. */
export function propertyContract(open: () => Promise<StoreFixture>): void {
  describe('properties', () => {
    let fixture: StoreFixture;
    before(async () => {
      fixture = await open();
    });
    after(() => fixture[Symbol.asyncDispose]());

    it('appended bytes are read back unchanged from every cursor, compressed or not', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(text, { minLength: 1, maxLength: 8 }), { maxLength: 12 }),
          fc.integer({ min: 1, max: 2000 }),
          fc.boolean(),
          async (batches, maxBytes, compress) => {
            const { store, peer } = fixture;
            const { run, token } = await claimedRun(store);
            const all = [frame(1), frame(2)];
            for (const texts of batches) {
              const added = texts.map((delta, index) => frame(all.length + 1 + index, delta));
              const frames = Buffer.concat(added);
              const { result } = await store.append(run.id, {
                token,
                first: all.length + 1,
                count: added.length,
                frames,
              });
              assert.equal(result, 'ok');
              all.push(...added);
            }
            await store.append(run.id, ending(token, all.length + 1, 'completed'));
            all.push(frame(all.length + 1));
            if (compress) await store.compressEnded({ endedForMs: 0, limit: 1000 });
            for (let after = 0; after <= all.length; after++) {
              const { bytes } = await readAll(peer, run.id, { after, maxBytes });
              assert.ok(bytes.equals(Buffer.concat(all.slice(after))), `after ${after}`);
            }
          },
        ),
        { numRuns: 40 },
      );
    });

    it('competing writers never fork the log, and the run ends once', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              writer: fc.nat(2),
              action: fc.constantFrom('claim', 'append', 'append', 'append', 'repeat', 'skip', 'end'),
              count: fc.integer({ min: 1, max: 4 }),
              wait: fc.boolean(),
            }),
            { minLength: 5, maxLength: 40 },
          ),
          async (steps) => {
            const { run } = await claimedRun(fixture.store);
            const reader = new LiveReader(fixture.peer, run.id);
            using _ = await fixture.peer.subscribe(run.id, reader.handlers);
            const writers = [0, 1, 2].map((n) => new Writer(n % 2 ? fixture.peer : fixture.store, run.id, n));
            const pending: Promise<void>[] = [];
            for (const { writer, wait, ...step } of steps) {
              const done = writers[writer]?.act(step);
              if (!done) continue;
              if (wait) await done;
              else pending.push(done);
            }
            await Promise.all(pending);
            await reader.catchUp();
            const written = writers.flatMap((writer) => writer.written).sort((a, b) => a.first - b.first);
            const log = await readAll(fixture.store, run.id);
            const expected = Buffer.concat([frame(1), frame(2), ...written.map((batch) => batch.frames)]);
            assert.ok(log.bytes.equals(expected), 'the log holds exactly the acknowledged batches');
            assert.ok((await reader.bytes()).equals(expected), 'the live reader saw the log');
            assert.ok(written.filter((batch) => batch.end).length <= 1);
            assert.equal(
              log.end,
              written.some((batch) => batch.end),
            );
          },
        ),
        { numRuns: 60 },
      );
    });
  });
}

/** An owner that trusts its last known state until the store tells it otherwise. */
class Writer {
  readonly written: { first: number; frames: Uint8Array; end: boolean }[] = [];
  readonly #store: RunStore;
  readonly #id: string;
  readonly #name: number;
  #token = 'never claimed';
  #last = 2;

  constructor(store: RunStore, id: string, name: number) {
    this.#store = store;
    this.#id = id;
    this.#name = name;
  }

  async act({ action, count }: { action: string; count: number }): Promise<void> {
    if (action === 'claim') {
      const claim = await this.#store.claim(this.#id, { leaseMs: 1, force: true });
      if (claim) this.#token = claim.token;
      if (claim) this.#last = claim.run.last;
      return;
    }
    const first = action === 'repeat' ? Math.max(1, this.#last) : this.#last + (action === 'skip' ? 2 : 1);
    const frames = Buffer.concat(Array.from({ length: count }, (_, n) => frame(first + n, `writer ${this.#name}`)));
    const end = action === 'end' ? { status: 'completed' as const, at: 1, retainMs: 1 } : undefined;
    const batch = { token: this.#token, first, count, frames, ...(end ? { end } : {}) };
    const answer: AppendResult = await this.#store.append(this.#id, batch);
    if (answer.result === 'ok') this.written.push({ first, frames, end: end !== undefined });
    if ('last' in answer) this.#last = answer.last;
  }
}
