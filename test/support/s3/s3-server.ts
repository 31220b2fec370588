import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureFault } from './check-signature.ts';

/** The operation of a request, by S3's name. */
export type S3Operation =
  | 'PutObject'
  | 'GetObject'
  | 'HeadObject'
  | 'DeleteObject'
  | 'ListObjectsV2'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'ListMultipartUploads';

/** A fault to simulate for a request. */
export type S3Fault =
  /** An error status with its code; nothing is done. */
  | { status: number; code: string }
  /** 200, and then an error in the body, as the end of a multipart upload may have it. */
  | 'error in 200'
  /** The connection is cut: before anything is read, or when all is done and nothing is answered. */
  | 'cut before'
  | 'cut after'
  /** It is never answered: nothing is done, or all is. */
  | 'hang before'
  | 'hang after'
  | 'wrong etag'
  /** It is done and answered only then, unless the client has left. */
  | { after: Promise<unknown> }
  /** The body of an object ends after so many bytes, with the connection; or nothing more comes. */
  | { cutAt: number }
  | { stallAt: number };

export interface S3ServerOptions {
  /** Entries of a page of a list. */
  pageSize?: number;
  /** The smallest size of a part that is not the last one. */
  leastPart?: number;
}

interface Upload {
  key: string;
  begun: Date;
  parts: Map<number, { body: Buffer; etag: string }>;
}

interface Asked {
  operation: S3Operation;
  key: string;
  query: URLSearchParams;
  body: Buffer;
}

const BUCKET = 'files-of-tests';
const REGION = 'test-region-1';
const LEAST_PART = 5 * 1024 * 1024;

/**
 * A strict S3-compatible store with one bucket in memory: it checks signatures and hashes by itself, and refuses unknown
 * requests and parts that are too small or differ in size.
 */
export class S3Server implements AsyncDisposable {
  readonly bucket = BUCKET;
  readonly region = REGION;
  readonly credentials = {
    accessKeyId: `AK${randomBytes(9).toString('hex')}`,
    secretAccessKey: randomBytes(20).toString('base64'),
  };
  readonly objects = new Map<string, { body: Buffer; changed: Date }>();
  readonly uploads = new Map<string, Upload>();
  /** What was asked, in order. */
  readonly asked: S3Operation[] = [];
  /** Requests that are neither answered to their end nor given up. */
  answering = 0;
  /** Decides what goes wrong; `n` counts the requests of this operation from 1. */
  fault: (request: { operation: S3Operation; key: string; n: number }) => S3Fault | undefined = () => undefined;
  readonly #options: S3ServerOptions;
  readonly #server = createServer((req, res) => void this.#serve(req, res).catch(() => req.destroy()));

  constructor(options: S3ServerOptions = {}) {
    this.#options = options;
  }

  static async start(options?: S3ServerOptions): Promise<S3Server> {
    const server = new S3Server(options);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Nobody answers any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    this.answering += 1;
    res.once('close', () => {
      this.answering -= 1;
    });
    const url = new URL(String(req.url), this.endpoint);
    const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const operation = operationOf(String(req.method), rest.join('/'), url.searchParams);
    if (bucket !== BUCKET || !operation) return write(res, refused(400, 'InvalidRequest'));
    this.asked.push(operation);
    const n = this.asked.filter((one) => one === operation).length;
    const fault = this.fault({ operation, key: rest.join('/'), n });
    if (fault === 'cut before') {
      req.socket.destroy();
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const { accessKeyId: keyId, secretAccessKey: secret } = this.credentials;
    const wrong = signatureFault(req, { body, keyId, secret, region: REGION });
    if (wrong) return write(res, refused(403, wrong));
    if (fault === 'hang before') return;
    if (fault === 'error in 200') return write(res, refused(200, 'InternalError'));
    if (typeof fault === 'object' && 'status' in fault) return write(res, refused(fault.status, fault.code));
    if (typeof fault === 'object' && 'after' in fault) await fault.after;
    if (res.destroyed) return;
    const whole = this.#answer({ operation, key: rest.join('/'), query: url.searchParams, body });
    if (fault === 'cut after') req.socket.destroy();
    if (fault === 'cut after' || fault === 'hang after') return;
    const answer = req.headers.range === undefined ? whole : cutTo(req.headers.range, whole);
    if (fault === 'wrong etag') answer.headers.etag = '"00000000000000000000000000000000"';
    write(res, answer, { isHead: req.method === 'HEAD', fault });
  }

  #answer({ operation, key, query, body }: Asked): Answer {
    const object = this.objects.get(key);
    const upload = this.uploads.get(query.get('uploadId') ?? '');
    switch (operation) {
      case 'PutObject':
        this.objects.set(key, { body, changed: new Date() });
        return { ...EMPTY, headers: { etag: etagOf(body) } };
      case 'GetObject':
      case 'HeadObject':
        if (!object) return refused(404, 'NoSuchKey');
        return { ...EMPTY, headers: { etag: etagOf(object.body) }, body: object.body };
      case 'DeleteObject':
        this.objects.delete(key);
        return { ...EMPTY, status: 204 };
      case 'CreateMultipartUpload': {
        const id = `${randomUUID()}+/=&`;
        this.uploads.set(id, { key, begun: new Date(), parts: new Map() });
        return xml('InitiateMultipartUploadResult', `<UploadId>${escaped(id)}</UploadId>`);
      }
      case 'UploadPart': {
        const number = Number(query.get('partNumber'));
        if (!upload || upload.key !== key) return refused(404, 'NoSuchUpload');
        if (!(number >= 1 && number <= 10_000)) return refused(400, 'InvalidArgument');
        upload.parts.set(number, { body, etag: etagOf(body) });
        return { ...EMPTY, headers: { etag: etagOf(body) } };
      }
      case 'CompleteMultipartUpload':
        if (!upload || upload.key !== key) return refused(404, 'NoSuchUpload');
        return this.#complete({ id: String(query.get('uploadId')), upload, wanted: String(body) });
      case 'AbortMultipartUpload':
        if (!upload || upload.key !== key) return refused(404, 'NoSuchUpload');
        this.uploads.delete(String(query.get('uploadId')));
        return { ...EMPTY, status: 204 };
      case 'ListObjectsV2':
        return this.#list(query);
      case 'ListMultipartUploads':
        return this.#listUploads(query);
    }
  }

  #complete({ id, upload, wanted }: { id: string; upload: Upload; wanted: string }): Answer {
    const form = /<Part><PartNumber>(\d+)<\/PartNumber><ETag>("[0-9a-f]{32}")<\/ETag><\/Part>/g;
    const named = [...wanted.matchAll(form)].map(([, number, etag]) => ({ number: Number(number), etag }));
    if (named.length === 0) return refused(400, 'MalformedXML');
    const bodies: Buffer[] = [];
    for (const [index, { number, etag }] of named.entries()) {
      const part = upload.parts.get(number);
      if (number !== index + 1) return refused(400, 'InvalidPartOrder');
      if (!part || part.etag !== etag) return refused(400, 'InvalidPart');
      bodies.push(part.body);
    }
    const before = bodies.slice(0, -1);
    const least = this.#options.leastPart ?? LEAST_PART;
    if (before.some((one) => one.length < least)) return refused(400, 'EntityTooSmall');
    // Not S3's own rule, but that of stores beside it.
    if (before.some((one) => one.length !== before[0]?.length)) return refused(400, 'InvalidPart');
    this.uploads.delete(id);
    this.objects.set(upload.key, { body: Buffer.concat(bodies), changed: new Date() });
    return xml('CompleteMultipartUploadResult', `<Key>${escaped(upload.key)}</Key>`);
  }

  #list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString();
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, this.#options.pageSize ?? 1000);
    const last = page.at(-1);
    const entries = page.map(
      (key) =>
        `<Contents><Key>${escaped(key)}</Key><LastModified>${this.objects.get(key)?.changed.toISOString()}</LastModified></Contents>`,
    );
    const next = page.length < keys.length && last !== undefined ? Buffer.from(last).toString('base64') : undefined;
    const token = next === undefined ? '' : `<NextContinuationToken>${escaped(next)}</NextContinuationToken>`;
    return xml('ListBucketResult', `<IsTruncated>${next !== undefined}</IsTruncated>${token}${entries.join('')}`);
  }

  #listUploads(query: URLSearchParams): Answer {
    const [prefix, key, id] = ['prefix', 'key-marker', 'upload-id-marker'].map((name) => query.get(name) ?? '');
    const placeOf = (of: string, upload: string | undefined) => `${of}\0${upload}`;
    const open = [...this.uploads]
      .map(([one, upload]) => ({ id: one, ...upload }))
      .filter((one) => one.key.startsWith(prefix ?? '') && placeOf(one.key, one.id) > placeOf(key ?? '', id))
      .sort((a, b) => (placeOf(a.key, a.id) < placeOf(b.key, b.id) ? -1 : 1));
    const page = open.slice(0, this.#options.pageSize ?? 1000);
    const last = page.at(-1);
    const entries = page.map(
      (one) =>
        `<Upload><Key>${escaped(one.key)}</Key><UploadId>${escaped(one.id)}</UploadId><Initiated>${one.begun.toISOString()}</Initiated></Upload>`,
    );
    const markers = last
      ? `<NextKeyMarker>${escaped(last.key)}</NextKeyMarker><NextUploadIdMarker>${escaped(last.id)}</NextUploadIdMarker>`
      : '';
    const truncated = `<IsTruncated>${page.length < open.length}</IsTruncated>`;
    return xml('ListMultipartUploadsResult', `${truncated}${markers}${entries.join('')}`);
  }
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

const EMPTY: Answer = { status: 200, headers: {}, body: Buffer.alloc(0) };

function refused(status: number, code: string): Answer {
  return { ...xml('Error', `<Code>${code}</Code><Message>Refused.</Message>`, ''), status };
}

function xml(root: string, inner: string, space = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'): Answer {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${space}>${inner}</${root}>`;
  return { ...EMPTY, headers: {}, body: Buffer.from(text) };
}

function cutTo(range: string, whole: Answer): Answer {
  const { body, status } = whole;
  if (status !== 200) return whole;
  const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
  if (!(from < body.length)) return refused(416, 'InvalidRange');
  const headers = { ...whole.headers, 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` };
  return { status: 206, headers, body: body.subarray(from) };
}

function write(
  res: ServerResponse,
  { status, headers, body }: Answer,
  { isHead = false, fault }: { isHead?: boolean; fault?: S3Fault | undefined } = {},
): void {
  res.writeHead(status, status === 204 ? headers : { ...headers, 'content-length': String(body.length) });
  if (!isHead && typeof fault === 'object' && 'cutAt' in fault) {
    res.write(body.subarray(0, fault.cutAt), () => void res.destroy());
  } else if (!isHead && typeof fault === 'object' && 'stallAt' in fault) res.write(body.subarray(0, fault.stallAt));
  else res.end(isHead || status === 204 ? undefined : body);
}

function operationOf(method: string, key: string, query: URLSearchParams): S3Operation | undefined {
  const [isUpload, isPart, isBucket] = [query.has('uploads'), query.has('uploadId'), key === ''];
  if (isBucket) {
    if (method !== 'GET') return undefined;
    if (isUpload) return 'ListMultipartUploads';
    return query.get('list-type') === '2' ? 'ListObjectsV2' : undefined;
  }
  if (method === 'POST') return isUpload ? 'CreateMultipartUpload' : isPart ? 'CompleteMultipartUpload' : undefined;
  if (method === 'PUT') return isPart ? 'UploadPart' : 'PutObject';
  if (method === 'DELETE') return isPart ? 'AbortMultipartUpload' : 'DeleteObject';
  return method === 'GET' ? 'GetObject' : method === 'HEAD' ? 'HeadObject' : undefined;
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
