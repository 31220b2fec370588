import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { JsonBody } from '../middleware/body.ts';

/** A `response.create` of a client (docs/api.md, "WebSocket"). */
export interface CreateFrame {
  /** The stream that the frame names; undefined: the stream without a name. */
  stream: string | undefined;
  /** The body that a POST would have. */
  body: JsonBody;
  /** False: the input is stored, and no response is generated. */
  generate?: false;
}

const STREAM = /^[\w.-]{1,256}$/;

/** The stream that a frame names, if it is readable: errors are reported on it. */
export function streamIdOf(raw: Record<string, unknown>): string | undefined {
  const { stream_id: stream } = raw;
  return typeof stream === 'string' && STREAM.test(stream) ? stream : undefined;
}

/** Checks a `response.create`. @throws GatewayError `missing_parameter`, `invalid_parameter`, `unsupported_parameter`. */
export function createFrame(raw: Buffer, frame: Record<string, unknown>): CreateFrame {
  const { type, stream_id: stream, stream: _, background, generate, ...json } = frame;
  if (type !== 'response.create') {
    const code = type == null ? 'missing_parameter' : 'invalid_parameter';
    throw fieldError(code, 'type', 'send response.create.');
  }
  if (stream != null && streamIdOf(frame) === undefined) {
    throw fieldError('invalid_parameter', 'stream_id', 'expected 1 to 256 letters, digits, "_", "." or "-".');
  }
  if (background != null && background !== false) {
    throw fieldError('unsupported_parameter', 'background', 'not on a WebSocket. Send it with POST /v1/responses.');
  }
  if (generate != null && typeof generate !== 'boolean') {
    throw fieldError('invalid_parameter', 'generate', 'expected a boolean.');
  }
  return { stream: streamIdOf(frame), body: { raw, json }, ...(generate === false && { generate }) };
}

/** The longest frame that is sent back, in bytes: it stays in memory until the client reads it. */
const MAX_STEER = 1024 * 1024;

/**
 * The answer to a `response.steer`, which would change a response in progress. It returns the input, so that clients send it
 * with the next `response.create`. Undefined for any other frame. @throws GatewayError for one that is too long.
 */
export function steerFailed(raw: Buffer, frame: Record<string, unknown>): string | undefined {
  const { type, input, previous_response_id } = frame;
  if (type !== 'response.steer') return undefined;
  if (raw.length > MAX_STEER) {
    const what = 'responses in progress cannot be steered here, and more than 1 MiB is not sent back.';
    throw fieldError('invalid_parameter', 'input', what);
  }
  const message = 'Responses in progress cannot be steered here: send this with the next response.create.';
  const error = { type: 'invalid_request_error', code: 'steering_not_supported', message };
  const steer = { input, previous_response_id };
  return JSON.stringify({ type: 'response.steer.failed', sequence_number: 0, steer, error });
}

/** Turns frames of a log into the JSON texts of a WebSocket, each with its `stream_id`. */
export function* socketFrames(
  frames: Uint8Array,
  stream: string | undefined,
): Generator<{ type: string; text: string }> {
  const text = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength).toString('utf8');
  const end = stream === undefined ? '}' : `,"stream_id":${JSON.stringify(stream)}}`;
  for (const frame of text.split('\n\n')) {
    const data = frame.indexOf('\ndata: ');
    if (data === -1) continue;
    yield { type: frame.slice('event: '.length, data), text: frame.slice(data + '\ndata: '.length, -1) + end };
  }
}

export function errorFrame(
  answer: { status: number; headers: Record<string, string>; body: string },
  stream: string | undefined,
): string {
  const parsed: unknown = JSON.parse(answer.body);
  const { status, headers } = answer;
  const error = isObject(parsed) ? parsed.error : null;
  const extra = Object.keys(headers).length > 0 && { headers };
  return JSON.stringify({ type: 'error', status, error, ...extra, ...(stream !== undefined && { stream_id: stream }) });
}
