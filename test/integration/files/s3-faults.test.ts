import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { GatewayError } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { S3Bucket } from '../../../src/files/s3/s3-bucket.ts';
import { S3Connection } from '../../../src/files/s3/s3-connection.ts';
import { MIN_PART_BYTES, S3Upload } from '../../../src/files/s3/s3-upload.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { until } from '../../support/http-gateway.ts';
import { openS3Place } from '../../support/s3/s3-place.ts';
import { type S3Fault, type S3Operation, S3Server } from '../../support/s3/s3-server.ts';
import { patience } from '../../support/time-limit.ts';

const MIB = 1024 * 1024;
const signal = new AbortController().signal;
const small = randomBytes(100_000);
const large = randomBytes(17 * MIB);
const UPLOADING: readonly (readonly [S3Operation, Buffer])[] = [
  ['PutObject', small],
  ['CreateMultipartUpload', large],
  ['UploadPart', large],
  ['CompleteMultipartUpload', large],
];
const PASSING: readonly S3Fault[] = [
  { status: 503, code: 'SlowDown' },
  { status: 500, code: 'InternalError' },
  'cut before',
  'cut after',
];

describe('files in an S3-compatible store that fails', function () {
  this.timeout(patience(90));
  let server: S3Server;
  let fixture: ReturnType<typeof openS3Place>;
  let lines: string[];
  let log: ReturnType<typeof createLogger>;
  beforeEach(async () => {
    lines = [];
    server = await S3Server.start();
    log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    fixture = openS3Place(server, { prefix: '/some', log, times: { idleMs: 1000, totalMs: 2500, backoffMs: 1 } });
  });
  afterEach(async () => {
    await until(() => server.answering === 0 || undefined);
    await fixture[Symbol.asyncDispose]();
  });

  const upload = async (bytes: Buffer) => {
    const source = Readable.from(pieces(bytes), { objectMode: false });
    await using taken = await fixture.place.receive(source, { id: randomUUID(), maxBytes: 64 * MIB, signal });
    await taken.commit();
    return taken.id;
  };
  const away = (thrown: unknown) => {
    assert.ok(thrown instanceof GatewayError, String(thrown));
    assert.equal(thrown.code, 'store_unavailable');
    assert.ok((thrown.retryAfterMs ?? 0) > 0);
    assert.doesNotMatch(thrown.message, /127\.0\.0\.1|files-of-tests|AK/);
    return true;
  };
  const failOnly = (operation: S3Operation, fault: S3Fault, until = Number.POSITIVE_INFINITY) => {
    server.fault = (request) => (request.operation === operation && request.n <= until ? fault : undefined);
  };

  for (const [operation, bytes] of UPLOADING) {
    // Requests of all operations are repeated alike: for the large ones one status is enough.
    const passing = bytes === small ? PASSING : PASSING.slice(1);
    it(`are stored although ${operation} fails once or twice`, async () => {
      // The default time limits: nothing hangs here, and the machine may be busy.
      fixture.place[Symbol.dispose]();
      fixture = openS3Place(server, { prefix: '/some', log, times: { backoffMs: 1 } });
      for (const fault of passing) {
        server.asked.length = 0;
        failOnly(operation, fault, 2);
        const id = await upload(bytes);
        assert.ok(server.objects.get(`some/${id}`)?.body.equals(bytes), JSON.stringify(fault));
        assert.ok(server.asked.filter((one) => one === operation).length >= 3 || fault === 'cut after');
        assert.equal(server.uploads.size, 0, `${JSON.stringify(fault)}: uploads are left`);
        server.objects.clear();
      }
    });

    it(`are rejected if ${operation} keeps failing, and leave nothing behind`, async () => {
      const faults: S3Fault[] = [...passing, 'hang before', 'hang after', { status: 403, code: 'AccessDenied' }];
      // A completed multipart upload is an object, even if its response is lost.
      const ends = (fault: S3Fault) => operation === 'CompleteMultipartUpload' && fault === 'cut after';
      for (const fault of faults.filter((one) => !ends(one))) {
        failOnly(operation, fault);
        await assert.rejects(upload(bytes), away, JSON.stringify(fault));
        assert.deepEqual(await fixture.stored(), [], `${JSON.stringify(fault)} leaves something`);
      }
    });
  }

  it('are rejected if a part has a wrong ETag or the completion fails in a 200, and leave nothing behind', async () => {
    for (const [operation, fault] of [
      ['UploadPart', 'wrong etag'],
      ['CompleteMultipartUpload', 'error in 200'],
    ] as const) {
      failOnly(operation, fault);
      await assert.rejects(upload(large), away);
      assert.deepEqual(await fixture.stored(), []);
    }
  });

  it('are read whole although a download breaks off at any tenth or stalls', async () => {
    const id = await upload(small);
    for (let tenth = 0; tenth < 10; tenth++) {
      server.asked.length = 0;
      failOnly('GetObject', { cutAt: (small.length * tenth) / 10 }, 1);
      assert.ok((await fixture.place.read(id, signal))?.equals(small), `cut at ${tenth} tenths`);
    }
    server.asked.length = 0;
    failOnly('GetObject', { stallAt: 40_000 }, 1);
    assert.ok((await fixture.place.read(id, signal))?.equals(small), 'stalled');
  });

  it('are unavailable if downloads keep breaking off or never start', async () => {
    const id = await upload(small);
    const faults: S3Fault[] = [{ cutAt: 0 }, 'hang before', 'cut before', { status: 503, code: 'SlowDown' }];
    for (const fault of [...faults, { status: 404, code: 'NoSuchBucket' }]) {
      failOnly('GetObject', fault);
      await assert.rejects(fixture.place.read(id, signal), away);
    }
    failOnly('DeleteObject', { status: 503, code: 'SlowDown' });
    await assert.rejects(fixture.place.remove(id, signal), away);
    assert.equal(server.objects.size, 1);
  });

  it('are given up with the reason of the signal while the store hangs', async () => {
    const id = await upload(small);
    for (const operation of ['GetObject', 'PutObject', 'DeleteObject'] as const) {
      const stop = new AbortController();
      const reason = new Error('the client left');
      server.fault = (request) => {
        if (request.operation !== operation) return undefined;
        setImmediate(() => stop.abort(reason));
        return 'hang before';
      };
      const source = Readable.from([small]);
      const work = {
        GetObject: () => fixture.place.read(id, stop.signal),
        PutObject: () => fixture.place.receive(source, { id: randomUUID(), maxBytes: MIB, signal: stop.signal }),
        DeleteObject: () => fixture.place.remove(id, stop.signal),
      };
      await assert.rejects(work[operation](), reason);
    }
  });

  it('leave no connection open if their stream is destroyed', async () => {
    const id = await upload(small);
    failOnly('GetObject', { stallAt: 10 });
    const source = await fixture.place.stream(id, signal);
    assert.equal(server.answering, 1);
    source?.destroy();
    await until(() => server.answering === 0 || undefined);
  });

  it('are unavailable if nobody listens, and the log says why', async () => {
    const id = await upload(small);
    await server[Symbol.asyncDispose]();
    await assert.rejects(upload(small), away);
    await assert.rejects(upload(large), away);
    await assert.rejects(fixture.place.read(id, signal), away);
    await assert.rejects(fixture.place.remove(id, signal), away);
    assert.match(lines.join(''), /the object storage of files fails/);
    assert.match(lines.join(''), /ECONNREFUSED/);
  });

  it('are unavailable if the store rejects the credentials, and no secret is shown', async () => {
    const { accessKeyId, secretAccessKey } = server.credentials;
    for (const [wrong, code] of [
      [{ accessKeyId, secretAccessKey: 'canary-of-a-secret' }, 'SignatureDoesNotMatch'],
      [{ accessKeyId: 'canary-of-an-id', secretAccessKey }, 'InvalidAccessKeyId'],
    ] as const) {
      const other = openS3Place({ ...storeOf(server), credentials: wrong }, { log: logTo(lines) });
      using place = other.place;
      await assert.rejects(place.read(randomUUID(), signal), (thrown) => {
        const shown = `${thrown} ${thrown instanceof Error ? thrown.cause : ''} ${lines.join('')}`;
        assert.match(shown, new RegExp(code));
        assert.doesNotMatch(shown, /canary|Signature=/);
        assert.ok(!shown.includes(secretAccessKey) && !shown.includes(accessKeyId));
        return away(thrown);
      });
    }
  });

  it('leave uploads behind if the store is away when they are aborted, until a sweep removes them', async () => {
    server.fault = ({ operation }) =>
      operation === 'UploadPart' || operation === 'AbortMultipartUpload' ? 'cut before' : undefined;
    await assert.rejects(upload(large), away);
    assert.equal(server.uploads.size, 1);
    server.fault = () => undefined;
    const sweep = (olderThanMs: number) =>
      fixture.place.sweep({ olderThanMs, isKnown: () => Promise.resolve(true), signal });
    await sweep(3_600_000);
    assert.equal(server.uploads.size, 1, 'a young upload may still be going on');
    await sweep(-3_600_000);
    assert.equal(server.uploads.size, 0);
  });

  it('take no more memory if they arrive byte by byte', async () => {
    const bytes = 300_000;
    let grown = 0;
    const source = Readable.from(
      (async function* () {
        collectGarbage();
        const before = process.memoryUsage().heapUsed;
        for (let sent = 0; sent < bytes; sent++) yield Buffer.from([sent % 251]);
        collectGarbage();
        grown = process.memoryUsage().heapUsed - before;
      })(),
    );
    await using taken = await fixture.place.receive(source, { id: randomUUID(), maxBytes: 64 * MIB, signal });
    assert.equal(taken.bytes, bytes);
    assert.ok(grown < 20 * MIB, `${grown} bytes`);
  });

  it('buffer less memory when many are uploaded at once', async () => {
    using connection = new S3Connection({ ...storeOf(server), log: logTo(lines) });
    const bucket = new S3Bucket(connection, server.bucket);
    for (const [others, maxBuffered] of [
      [0, 16 * MIB + 65_536],
      [64 * MIB, MIN_PART_BYTES + 65_536],
    ] as const) {
      const buffered = { bytes: others };
      let highest = 0;
      using going = new S3Upload(bucket, { key: 'some/one', maxBytes: 64 * MIB, buffered });
      for (const piece of pieces(large)) {
        await going.write(piece, signal);
        highest = Math.max(highest, buffered.bytes - others);
      }
      await going.end(signal);
      assert.ok(highest <= maxBuffered, `${highest} bytes were buffered`);
      assert.ok(server.objects.get('some/one')?.body.equals(large));
      going[Symbol.dispose]();
      assert.equal(buffered.bytes, others);
    }
  });
});

function* pieces(bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

function logTo(lines: string[]) {
  return createLogger({ destination: { write: (line: string) => void lines.push(line) } });
}

/** The settings of a connection to a server. */
function storeOf({ endpoint, region, bucket, credentials }: S3Server) {
  return { endpoint, region, bucket, credentials, [Symbol.asyncDispose]: async () => {} };
}
