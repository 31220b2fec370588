import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type ReconnectionScheduler,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/** JSON-RPC code of the answer that stands in for one that never came; in the range left to implementations. */
export const STREAM_ENDED_CODE = -32_050;

/**
 * Streamable HTTP that answers for a server that does not: when the stream of a request ends without its response, the
 * library would wait until the time limit.
 */
export class AnsweringHttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      // Where the response did come, this one is for an unknown request and is dropped.
      const error = { code: STREAM_ENDED_CODE, message: 'The server ended the stream without an answer.' };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

const LEAST_DELAY_MS = 1_000;
const MOST_RECONNECTIONS = 50;

/**
 * Reconnects streams at a pace of the gateway's. A server may ask for any delay, and every stream it opens and closes
 * again starts a new count.
 */
export function calmReconnections(): ReconnectionScheduler {
  let reconnections = 0;
  return (reconnect, delay) => {
    if (++reconnections > MOST_RECONNECTIONS) return;
    const timer = setTimeout(reconnect, Math.max(delay, LEAST_DELAY_MS));
    timer.unref();
    return () => clearTimeout(timer);
  };
}
