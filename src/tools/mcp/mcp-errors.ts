import {
  InsufficientScopeError,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { TimeoutError } from '../../base/abort.ts';
import { causesOf, messageOf } from '../../base/errors.ts';
import { Redactor } from '../../base/logger.ts';
import { ToolError } from '../tool.ts';
import { STREAM_ENDED_CODE } from './http-transport.ts';
import { MCP_LIMITS, type McpServer, secretsOfServer } from './mcp-server.ts';

/** Converts a failure of a server for the model: with the server's name, short, and without its credentials. */
export function toToolError(thrown: unknown, server: McpServer): ToolError {
  const known = causes(thrown).find((error) => error instanceof ToolError);
  if (known) return known;
  const { code, reason } = classify(thrown);
  return new ToolError(code, `MCP server ${server.name}: ${redactAndCut(reason, server)}`, { cause: thrown });
}

/** Redacts a server's credentials in its text, and cuts it. */
export function redactAndCut(text: string, server: McpServer): string {
  const redactor = new Redactor();
  redactor.setSecrets(secretsOfServer(server));
  const clean = redactor.redact(text);
  return clean.length <= MCP_LIMITS.message ? clean : `${clean.slice(0, MCP_LIMITS.message).toWellFormed()}...`;
}

/** Whether the failure concerns one request only, so that the connection is still usable. */
export function isRequestFailure(thrown: unknown): boolean {
  if (thrown instanceof ProtocolError) return thrown.code !== STREAM_ENDED_CODE;
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout;
}

/**
 * Whether the server no longer knows the session, so that the request was not carried out and may be repeated. The
 * protocol demands 404; some servers answer 400.
 */
export function isLostSession(thrown: unknown): boolean {
  if (thrown instanceof SdkHttpError) return thrown.status === 404 || thrown.status === 400;
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.NotConnected;
}

/** Whether the connection ended before an answer came. */
export function isConnectionLost(thrown: unknown): boolean {
  return causes(thrown).some((error) => error instanceof ToolError && error.code === 'unreachable');
}

/** Whether the failure suggests that the server speaks the older transport: a 4xx not about credentials or limits. */
export function mayBeOlderServer(thrown: unknown): boolean {
  const status = causes(thrown).find((error) => error instanceof SdkHttpError)?.status ?? 0;
  return status >= 400 && status < 500 && ![401, 403, 407, 429].includes(status);
}

function classify(thrown: unknown): { code: string; reason: string } {
  const chain = causes(thrown);
  if (chain.some((error) => error instanceof UnauthorizedError || error instanceof InsufficientScopeError)) {
    return { code: 'mcp_unauthorized', reason: 'it refuses the credentials it was given.' };
  }
  const http = chain.find((error) => error instanceof SdkHttpError);
  if (http?.status === 401 || http?.status === 403) {
    return { code: 'mcp_unauthorized', reason: `it refuses access (HTTP ${http.status}).` };
  }
  if (http) return { code: 'mcp_unavailable', reason: `it answered HTTP ${http.status}: ${messageOf(http)}` };
  if (
    chain.some(
      (error) =>
        error instanceof TimeoutError || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout),
    )
  ) {
    return { code: 'timeout', reason: 'it did not answer in time.' };
  }
  const protocol = chain.find((error) => error instanceof ProtocolError);
  if (protocol?.code === STREAM_ENDED_CODE) return { code: 'mcp_unavailable', reason: protocol.message };
  if (protocol) {
    const code = protocol.code === ProtocolErrorCode.InvalidParams ? 'invalid_arguments' : 'mcp_error';
    return { code, reason: protocol.message };
  }
  if (chain.some(isMalformed)) {
    return { code: 'mcp_unavailable', reason: 'it answered in a form that the protocol does not have.' };
  }
  const sse = chain.find((error) => error instanceof SseError);
  if (sse) return { code: 'mcp_unavailable', reason: `it opened no event stream (HTTP ${sse.code ?? 'none'}).` };
  return { code: 'mcp_unavailable', reason: chain.map(messageOf).join(': ') };
}

/** Whether the client library rejected a message or a result that fits no schema; its message lists every schema. */
function isMalformed(thrown: unknown): boolean {
  if (thrown instanceof SdkError) return thrown.code === SdkErrorCode.InvalidResult;
  return thrown instanceof Error && thrown.name === 'ZodError';
}

function causes(thrown: unknown): unknown[] {
  return causesOf(thrown, causeInData);
}

/** Errors of version negotiation carry their cause in their data. */
function causeInData(error: Error): unknown {
  const data = error instanceof SdkError ? error.data : undefined;
  return typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined;
}
