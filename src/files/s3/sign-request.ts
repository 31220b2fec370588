import { createHmac, hash } from 'node:crypto';

/** AWS Signature Version 4 for S3: in the header, with the hash of the body. */

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface UnsignedRequest {
  method: string;
  /** The request target as sent: path and query, from `signedTarget`. */
  target: string;
  /** Including `host`. All of them are signed. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex. */
  payloadHash: string;
}

/**
 * Returns the headers of a request with its signature.
 * @param now milliseconds since the epoch; stores reject requests more than 15 minutes off their clock.
 */
export function signRequest(
  { method, target, headers, payloadHash }: UnsignedRequest,
  { credentials, region, now }: { credentials: S3Credentials; region: string; now: number },
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': payloadHash, 'x-amz-date': time };
  const names = Object.keys(all).sort();
  const [path = '', query = ''] = target.split('?');
  const lines = names.map((name) => `${name}:${all[name]?.trim()}\n`).join('');
  const canonical = [method, path, query, lines, names.join(';'), payloadHash].join('\n');
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical)}`;
  const dayKey = hmac(`AWS4${credentials.secretAccessKey}`, day);
  const signature = hmac(hmac(hmac(hmac(dayKey, region), 's3'), 'aws4_request'), text).toString('hex');
  const credential = `${credentials.accessKeyId}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return { ...all, authorization };
}

/** Path and query as they are signed and sent: the query sorted, everything but unreserved characters encoded. */
export function signedTarget(path: string, query: Readonly<Record<string, string>> = {}): string {
  const encoded = path.split('/').map(encode).join('/');
  const names = Object.keys(query).sort();
  const pairs = names.map((name) => `${encode(name)}=${encode(query[name] ?? '')}`);
  return pairs.length === 0 ? encoded : `${encoded}?${pairs.join('&')}`;
}

/** Encodes as in RFC 3986: `encodeURIComponent` leaves five reserved characters as they are. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
