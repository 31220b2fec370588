import { TransformStream } from 'node:stream/web';
import { type JSONRPCMessage, ProtocolErrorCode, type Transport } from '@modelcontextprotocol/client';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { MaskedBody, type SecretMask } from '../../base/secrets/secret-mask.ts';
import { fitsShape, type JsonShape } from '../../protocol/requests/json-spans.ts';
import { ToolError } from '../tool.ts';
import { readableMessage } from './readable-messages.ts';

/** What one message of a server may hold. A larger one would block the event loop for too long. */
const LIMITS: JsonShape = { depth: 200, containers: 50_000, members: Number.POSITIVE_INFINITY, entries: 200_000 };
/** The most content blocks of a result: each is checked against the schemas of all kinds. */
const MAX_BLOCKS = 2000;
const TOO_MANY = 'A message of the MCP server holds too many values.';

/**
 * Limits each JSON message in a server's answer, because the client library parses any message in one step. Reading the
 * body fails at a message that exceeds the limits. `mask` masks the credentials that the server received and may quote.
 */
export function boundedMessages(response: Response, mask: SecretMask): Response {
  if (response.body === null) return response;
  const masked = new MaskedBody(mask);
  // An event stream has one message a line; any other body is one message.
  const check = new MessageCheck(/^text\/event-stream/i.test(response.headers.get('content-type') ?? ''));
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        check.push(bytes);
        const clean = masked.push(bytes);
        if (clean.length > 0) controller.enqueue(clean);
        // The library answers all requests of a chunk at once, and a server may send tens of thousands.
        await yieldToEventLoop();
      },
      flush(controller) {
        check.end();
        const rest = masked.end();
        if (rest.length > 0) controller.enqueue(rest);
      },
    }),
  );
  return new Response(body, response);
}

/**
 * Makes a connected transport drop messages that exceed the limits, replace such answers with an error, and pass on what
 * can be read of the others. Programs need the limits, because their messages do not pass `boundedMessages`. Call it once
 * the client has connected.
 */
export function boundTransport(transport: Transport): void {
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (isBounded(message)) return onmessage?.(readableMessage(message), extra);
    if ('method' in message || message.id === undefined) return;
    const error = { code: ProtocolErrorCode.InternalError, message: TOO_MANY };
    onmessage?.({ jsonrpc: '2.0', id: message.id, error }, extra);
  };
}

function isBounded(message: JSONRPCMessage): boolean {
  if ('result' in message && Array.isArray(message.result.content) && message.result.content.length > MAX_BLOCKS)
    return false;
  let containers = 0;
  let entries = 0;
  let level: object[] = [message];
  for (let depth = 1; level.length > 0; depth++) {
    const nextLevel: object[] = [];
    for (const container of level) {
      const values: unknown[] = Object.values(container);
      containers++;
      entries += values.length;
      if (containers > LIMITS.containers || entries > LIMITS.entries) return false;
      for (const value of values) if (typeof value === 'object' && value !== null) nextLevel.push(value);
    }
    if (depth > LIMITS.depth) return false;
    level = nextLevel;
  }
  return true;
}

/** Checks each message before its end reaches the client library. */
class MessageCheck {
  readonly #isOnePerLine: boolean;
  #message: Buffer[] = [];

  constructor(isOnePerLine: boolean) {
    this.#isOnePerLine = isOnePerLine;
  }

  /** @throws ToolError `invalid_output` */
  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = this.#isOnePerLine ? chunk.indexOf('\n', start) : -1;
      if (end === -1) break;
      this.#message.push(chunk.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.#message.push(chunk.subarray(start));
  }

  /** @throws ToolError `invalid_output` */
  end(): void {
    if (!fitsShape(Buffer.concat(this.#message), LIMITS)) throw new ToolError('invalid_output', TOO_MANY);
    this.#message = [];
  }
}
