import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Checks AWS Signature Version 4 like a store: from the raw request, by the published specification, and without the
 * gateway's own signer. Undefined if it is valid, else the error code of S3.
 */
export function signatureFault(
  req: IncomingMessage,
  { body, keyId, secret, region }: { body: Buffer; keyId: string; secret: string; region: string },
): string | undefined {
  const raw = new Map<string, string>();
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = String(req.rawHeaders[at]).toLowerCase();
    if (raw.has(name)) return 'InvalidRequest';
    raw.set(
      name,
      String(req.rawHeaders[at + 1])
        .trim()
        .replace(/ +/g, ' '),
    );
  }
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
  const found = form.exec(raw.get('authorization') ?? '');
  if (!found) return 'AccessDenied';
  const [, id = '', day = '', where = '', signed = '', signature = ''] = found;
  if (id !== keyId) return 'InvalidAccessKeyId';
  if (where !== region) return 'AuthorizationHeaderMalformed';
  const time = raw.get('x-amz-date') ?? '';
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!time.startsWith(day) || !(Math.abs(Date.now() - at) < 15 * 60_000)) return 'RequestTimeTooSkewed';
  const names = signed.split(';');
  if (names.join() !== names.toSorted().join() || !names.includes('host')) return 'InvalidRequest';
  for (const name of raw.keys()) if (name.startsWith('x-amz-') && !names.includes(name)) return 'AccessDenied';
  const payload = raw.get('x-amz-content-sha256') ?? '';
  if (payload !== createHash('sha256').update(body).digest('hex')) return 'XAmzContentSHA256Mismatch';

  const mark = req.url?.indexOf('?') ?? -1;
  const path = mark < 0 ? String(req.url) : String(req.url).slice(0, mark);
  const query = mark < 0 ? '' : String(req.url).slice(mark + 1);
  const lines = [
    String(req.method),
    strict(path.split('/').map(decodeURIComponent).join('\0')).replaceAll('%00', '/'),
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => pair.split('=').map((part) => strict(decodeURIComponent(part))))
      .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))
      .map(([name, value = '']) => `${name}=${value}`)
      .join('&'),
  ];
  for (const name of names) lines.push(`${name}:${raw.get(name)}`);
  lines.push('', signed, payload);
  const text = ['AWS4-HMAC-SHA256', time, `${day}/${where}/s3/aws4_request`];
  text.push(createHash('sha256').update(lines.join('\n')).digest('hex'));
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const step of [day, where, 's3', 'aws4_request']) key = createHmac('sha256', key).update(step).digest();
  const right = createHmac('sha256', key).update(text.join('\n')).digest('hex');
  return right === signature ? undefined : 'SignatureDoesNotMatch';
}

/** Percent-encodes every byte except letters, digits and `-._~`. */
function strict(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const one = String.fromCharCode(byte);
      return /[A-Za-z0-9._~-]/.test(one) ? one : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
