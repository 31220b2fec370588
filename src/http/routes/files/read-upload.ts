import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { BusboyInstance } from '@fastify/busboy';
import { linkSignals } from '../../../base/abort.ts';
import { fieldError, GatewayError } from '../../../base/errors.ts';
import type { ReceivedBlob } from '../../../files/blob-store.ts';
import type { Call } from '../../endpoint.ts';
import { mediaType, requireIdentity } from '../../middleware/body.ts';

export interface Upload {
  /** Undefined if the form has none. */
  file: { name: string; type: string; taken: ReceivedBlob } | undefined;
  /** The other fields, by name. */
  fields: ReadonlyMap<string, string>;
}

const LIMITS = { fieldNameSize: 100, fieldSize: 1000, fields: 20, files: 5, parts: 25, headerPairs: 20 };

/**
 * Reads a form as it arrives, and streams its file to `take`. Disposing of `stack` removes the file again.
 * @throws GatewayError `unsupported_media_type`, `invalid_parameter` if the form breaks off or stalls, and as `take`.
 */
export async function readUpload(
  { req, res, bodies }: Pick<Call, 'req' | 'res' | 'bodies'>,
  {
    take,
    stack,
    signal,
  }: {
    take(source: Readable, options: { signal: AbortSignal }): Promise<ReceivedBlob>;
    stack: AsyncDisposableStack;
    signal: AbortSignal;
  },
): Promise<Upload> {
  const type = req.headers['content-type'];
  if (mediaType(req) !== 'multipart/form-data' || type === undefined) {
    throw new GatewayError('unsupported_media_type', 'Send the file in a form: "Content-Type: multipart/form-data".');
  }
  requireIdentity(req);
  if (req.headers.expect !== undefined) res.writeContinue();
  const fields = new Map<string, string>();
  let taking: Promise<Upload['file']> | undefined;
  // Not `AbortSignal.any`: Node keeps such a signal for ever while it has a listener.
  using stop = linkSignals([signal]);
  const parser = await makeParser({ ...req.headers, 'content-type': type });
  // A part need not have a name, nor a file one.
  parser.on('field', (name: string | undefined, value: string) => void (name && fields.set(name, value)));
  parser.on('file', (field: string, source: Readable, name: string | undefined, encoding: string, type: string) => {
    // It emits the errors of the form, even when nobody reads it any more.
    source.on('error', () => {});
    if (field !== 'file') source.resume();
    else if (/^(?:base64|quoted-printable)$/i.test(encoding))
      stop.abort(fieldError('invalid_parameter', 'file', 'send its bytes as they are, not encoded.'));
    else if (taking) stop.abort(fieldError('invalid_parameter', 'file', 'send one file at a time.'));
    else {
      taking = take(source, { signal: stop.signal }).then((taken) => ({
        name: name ?? '',
        type,
        taken: stack.use(taken),
      }));
      // The error is thrown below.
      taking.catch((thrown: unknown) => stop.abort(thrown));
    }
  });
  try {
    await parseForm(req, { parser, idleMs: bodies.idleMs, signal: stop.signal });
  } catch (thrown) {
    // Waits for the file, so that `stack` can dispose of it.
    stop.abort(thrown);
    await taking?.catch(() => {});
    throw thrown;
  }
  return { file: await taking, fields };
}

async function makeParser(headers: IncomingMessage['headers'] & { 'content-type': string }): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({ headers, limits: LIMITS });
  } catch (cause) {
    throw brokenForm(cause);
  }
}

/** Pipes the whole body into the parser. */
async function parseForm(
  req: IncomingMessage,
  { parser, idleMs, signal }: { parser: BusboyInstance; idleMs: number; signal: AbortSignal },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const idle = setTimeout(() => fail(brokenForm(undefined)), idleMs);
    const fail = (thrown: unknown) => {
      clearTimeout(idle);
      req.unpipe(parser);
      parser.destroy();
      reject(thrown);
    };
    req.on('data', () => idle.refresh());
    req.once('aborted', () => fail(brokenForm(undefined))).once('error', (cause) => fail(brokenForm(cause)));
    parser.on('error', (cause: unknown) => fail(brokenForm(cause)));
    parser.once('finish', () => {
      clearTimeout(idle);
      resolve();
    });
    if (signal.aborted) return fail(signal.reason);
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
    req.pipe(parser);
  });
}

function brokenForm(cause: unknown): GatewayError {
  return new GatewayError('invalid_parameter', 'file: the form is broken, or did not arrive as a whole.', {
    param: 'file',
    cause,
  });
}
