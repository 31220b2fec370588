import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { isObject } from '../../src/base/json.ts';
import { errorBody } from '../../src/protocol/errors.ts';
import type { RunEvent } from '../../src/protocol/events.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import { type ResponseObject, responseObject } from '../../src/protocol/response.ts';
import { KEYS, until } from './http-gateway.ts';

export interface SendOptions {
  /** Name of the API key; null: none. */
  key?: keyof typeof KEYS | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Received {
  status: number;
  headers: Headers;
  text: string;
  /** The body as a JSON object; empty where it is none. */
  json: Record<string, unknown>;
}

/** Sends a request and reads its whole answer. `target` is `POST /v1/responses` and the like. */
export async function send(at: { url: string }, target: string, options: SendOptions = {}): Promise<Received> {
  const answer = await open(at, target, options);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: objectIn(text) };
}

/** Sends a request and returns its answer once the headers have arrived. */
export async function open(
  { url }: { url: string },
  target: string,
  { key = 'ann', body, raw, headers = {}, signal }: SendOptions = {},
): Promise<Response> {
  const [method = 'GET', path = '/'] = target.split(' ', 2);
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return await fetch(url + path, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${KEYS[key]}` }),
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
    ...(signal && { signal }),
  });
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** An expected refusal. */
export interface Refusal {
  status: number;
  code: string;
  type?: string;
  param?: string | null;
}

/** Fails unless the answer is a JSON error with this status, this code, and the other expected fields. */
export function assertRefused(answer: Received, expected: Refusal): void {
  const shown = `${answer.status} ${answer.text.slice(0, 300)}`;
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8', shown);
  const { error } = errorBody.strict().parse(answer.json);
  const found = { status: answer.status, code: error.code, type: error.type, param: error.param };
  assert.deepEqual(found, { ...found, ...expected }, shown);
  assert.notEqual(error.message, '');
}

/** Parses the response object in an answer and checks every key. */
export function responseIn(answer: Received): ResponseObject {
  assert.equal(answer.status, 200, answer.text);
  return responseObject.strict().parse(answer.json);
}

/** Parses the events of a whole Responses stream. */
export function eventsIn(answer: Received): RunEvent[] {
  assert.equal(answer.status, 200, answer.text);
  return decodeFrames(Buffer.from(answer.text.replaceAll(': heartbeat\n\n', '')));
}

/** Submits a background response and returns its id. */
export async function submit(
  at: { url: string },
  input: string,
  { key = 'ann', ...fields }: { key?: keyof typeof KEYS; [field: string]: unknown } = {},
): Promise<string> {
  const body = { model: 'deep', input, background: true, ...fields };
  return responseIn(await send(at, 'POST /v1/responses', { key, body })).id;
}

/** Polls a response until it has ended. */
export function ended(at: { url: string }, id: string, key: keyof typeof KEYS = 'ann'): Promise<ResponseObject> {
  return until(async () => {
    const response = responseIn(await send(at, `GET /v1/responses/${id}`, { key }));
    return response.status === 'in_progress' ? undefined : response;
  });
}

/** Writes bytes to a new connection and returns everything that is received until it closes. */
export function rawExchange({ url }: { url: string }, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
    socket.write(bytes);
  });
}
