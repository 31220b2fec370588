import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { GatewayError } from '../../src/base/errors.ts';
import type { BlobStore } from '../../src/files/blob-store.ts';
import { patience } from '../support/time-limit.ts';

/** A blob store, and the names of everything in it: files, and what is left of uploads. */
export interface PlaceFixture extends AsyncDisposable {
  place: BlobStore;
  stored(): Promise<string[]>;
}

const MIB = 1024 * 1024;
const PIECE = 64 * 1024;
const signal = new AbortController().signal;

/** The contract of every `BlobStore`. `large`: test with files of many megabytes, too. */
export function describeFilePlace(
  name: string,
  open: () => Promise<PlaceFixture>,
  { large = true }: { large?: boolean } = {},
): void {
  const sizes = (all: readonly number[]) => all.filter((size) => large || size < MIB);
  describe(`files in ${name}`, function () {
    this.timeout(patience(60));
    let fixture: PlaceFixture;
    let place: BlobStore;
    before(async () => {
      fixture = await open();
      place = fixture.place;
    });
    after(() => fixture?.[Symbol.asyncDispose]());

    const take = (source: Readable, most = 64 * MIB) =>
      place.receive(source, { id: randomUUID(), maxBytes: most, signal });
    const kept = async (bytes: Buffer) => {
      await using taken = await take(inPieces(bytes));
      await taken.commit();
      return taken.id;
    };
    const coded = (code: string) => (thrown: unknown) => thrown instanceof GatewayError && thrown.code === code;

    it('are read back unchanged in any size, at once and as a stream', async () => {
      for (const size of sizes([0, 1, 100_000, 16 * MIB, 16 * MIB + 1, 23 * MIB + 7])) {
        const bytes = randomBytes(size);
        const id = await kept(bytes);
        assert.ok((await place.read(id, signal))?.equals(bytes), `${size} bytes, whole`);
        const source = await place.stream(id, signal);
        assert.ok(Buffer.concat((await source?.toArray()) ?? []).equals(bytes), `${size} bytes, in pieces`);
        await place.remove(id, signal);
        assert.equal(await place.read(id, signal), undefined);
      }
      assert.deepEqual(await fixture.stored(), []);
    });

    it('that do not exist read as undefined, and removing them does nothing', async () => {
      const id = randomUUID();
      assert.equal(await place.read(id, signal), undefined);
      assert.equal(await place.stream(id, signal), undefined);
      await place.remove(id, signal);
    });

    it('that are received but not committed leave nothing', async () => {
      for (const size of sizes([10, 18 * MIB])) {
        await using taken = await take(inPieces(randomBytes(size)));
        assert.equal(taken.bytes, size);
      }
      assert.deepEqual(await fixture.stored(), []);
    });

    for (const size of sizes([100_000, 20 * MIB])) {
      it(`of ${size} bytes whose upload breaks off leave nothing`, async () => {
        const bytes = randomBytes(size);
        for (let tenth = 0; tenth < 10; tenth++) {
          const broken = new Error('the client left');
          const source = Readable.from(
            (async function* () {
              yield* inPieces(bytes.subarray(0, (size * tenth) / 10));
              throw broken;
            })(),
            { objectMode: false },
          );
          await assert.rejects(take(source), broken);
        }
        assert.deepEqual(await fixture.stored(), []);
      });
    }

    it('whose upload is aborted while it stalls leave nothing', async () => {
      for (const size of sizes([10, 18 * MIB])) {
        const stop = new AbortController();
        const source = new Readable({ read() {} });
        const taking = place.receive(source, { id: randomUUID(), maxBytes: 64 * MIB, signal: stop.signal });
        taking.catch(() => {});
        for await (const piece of inPieces(randomBytes(size))) source.push(piece);
        while (source.readableLength > 0) await new Promise(setImmediate);
        const reason = new Error('the key was removed');
        stop.abort(reason);
        await assert.rejects(taking, reason);
      }
      assert.deepEqual(await fixture.stored(), []);
    });

    it('larger than maxBytes are refused and leave nothing', async () => {
      for (const most of sizes([10, 18 * MIB])) {
        await assert.rejects(take(inPieces(randomBytes(most + 1)), most), coded('request_too_large'));
      }
      assert.deepEqual(await fixture.stored(), []);
    });

    it('can be abandoned while they are read', async () => {
      const id = await kept(randomBytes(3 * MIB));
      const source = await place.stream(id, signal);
      for await (const _ of source ?? []) break;
      assert.ok(source?.destroyed);
      const stop = new AbortController();
      const second = await place.stream(id, stop.signal);
      await assert.rejects(
        async () => {
          for await (const _ of second ?? []) stop.abort();
        },
        { name: 'AbortError' },
      );
      await place.remove(id, signal);
    });

    it('are swept if they are unknown and old, however many there are', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 7; n++) ids.push(await kept(Buffer.from(`file ${n}`)));
      const known = new Set(ids.slice(0, 2));
      const isKnown = async (id: string) => known.has(id);
      await place.sweep({ olderThanMs: 3_600_000, isKnown, signal });
      assert.equal((await fixture.stored()).length, 7);
      await place.sweep({ olderThanMs: -3_600_000, isKnown, signal });
      assert.deepEqual(new Set(await fixture.stored()), known);
      for (const id of known) await place.remove(id, signal);
    });
  });
}

function inPieces(bytes: Buffer): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
    })(),
    { objectMode: false },
  );
}
