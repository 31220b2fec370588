import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A received span, with its attributes by name. */
export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  /** 1: internal, 2: server, 3: client. */
  kind: number;
  attributes: Record<string, unknown>;
  failed: boolean;
  /** Attributes of the process. */
  resource: Record<string, unknown>;
}

/** A data point of a histogram for one set of labels. */
export interface ReceivedPoint {
  name: string;
  unit: string;
  count: number;
  sum: number;
  attributes: Record<string, unknown>;
}

/** A collector for OTLP over HTTP with protobuf, on loopback. */
export interface OtlpCollector extends AsyncDisposable {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly points: ReceivedPoint[];
  /** Paths and headers of the exports, and their bytes where they were taken. */
  readonly exports: { path: string; headers: IncomingHttpHeaders; bytes: number }[];
}

/** Starts a collector. `answer`: replaces its success response; undefined makes it hang. */
export async function startOtlpCollector(
  options: { answer?: (response: ServerResponse) => void } = {},
): Promise<OtlpCollector> {
  const { answer } = options;
  const spans: ReceivedSpan[] = [];
  const points: ReceivedPoint[] = [];
  const exports: OtlpCollector['exports'] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const taken = { path, headers: request.headers, bytes: 0 };
    exports.push(taken);
    if (answer) {
      request.resume();
      return answer(response);
    }
    const body = Buffer.concat(await request.toArray());
    taken.bytes = body.length;
    if (path.endsWith('/v1/traces')) spans.push(...spansOf(body));
    if (path.endsWith('/v1/metrics')) points.push(...pointsOf(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    points,
    exports,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Fields of a protobuf message by number: lengths as bytes, everything else as a number. */
class Message {
  readonly #fields = new Map<number, (Buffer | number)[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const take = (length: number) => {
      at += length;
      return bytes.subarray(at - length, at);
    };
    const varint = () => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes.readUInt8(at++);
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return Number(BigInt.asIntN(64, value));
      }
    };
    const readers: Record<number, () => Buffer | number> = {
      0: varint,
      1: () => take(8),
      2: () => take(varint()),
      5: () => take(4),
    };
    while (at < bytes.length) {
      const tag = varint();
      const read = readers[tag & 7];
      if (!read) throw new Error(`wire type ${tag & 7}`);
      const known = this.#fields.get(tag >> 3) ?? [];
      known.push(read());
      this.#fields.set(tag >> 3, known);
    }
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  bytes(field: number): Buffer {
    const value = this.#fields.get(field)?.[0];
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  }

  text(field: number): string {
    return this.bytes(field).toString('utf8');
  }

  hex(field: number): string {
    return this.bytes(field).toString('hex');
  }

  number(field: number): number {
    const value = this.#fields.get(field)?.[0];
    return typeof value === 'number' ? value : 0;
  }

  each(field: number): Message[] {
    return (this.#fields.get(field) ?? []).flatMap((value) => (Buffer.isBuffer(value) ? [new Message(value)] : []));
  }

  /** Messages that are nested in one another. */
  below(...path: number[]): Message[] {
    return path.reduce<Message[]>((found, field) => found.flatMap((message) => message.each(field)), [this]);
  }

  attributes(field: number): Record<string, unknown> {
    return Object.fromEntries(this.each(field).map((pair) => [pair.text(1), anyValue(pair.each(2)[0])]));
  }
}

function anyValue(value: Message | undefined): unknown {
  if (!value) return undefined;
  if (value.has(1)) return value.text(1);
  if (value.has(2)) return value.number(2) === 1;
  if (value.has(3)) return value.number(3);
  if (value.has(4)) return value.bytes(4).readDoubleLE();
  return value.below(5, 1).map(anyValue);
}

function spansOf(body: Buffer): ReceivedSpan[] {
  return new Message(body).each(1).flatMap((ofResource) => {
    const resource = ofResource.each(1)[0]?.attributes(1) ?? {};
    return ofResource.below(2, 2).map((span) => ({
      name: span.text(5),
      traceId: span.hex(1),
      spanId: span.hex(2),
      parentSpanId: span.hex(4),
      kind: span.number(6),
      attributes: span.attributes(9),
      failed: span.each(15)[0]?.number(3) === 2,
      resource,
    }));
  });
}

function pointsOf(body: Buffer): ReceivedPoint[] {
  return new Message(body).below(1, 2, 2).flatMap((metric) =>
    metric.below(9, 1).map((point) => ({
      name: metric.text(1),
      unit: metric.text(3),
      count: Number(point.bytes(4).readBigUInt64LE()),
      sum: point.bytes(5).readDoubleLE(),
      attributes: point.attributes(9),
    })),
  );
}
