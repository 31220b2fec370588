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
import { messageOf } from '../../base/errors.ts';
import { Redactor } from '../../base/logger.ts';
import { ToolError } from '../tool.ts';
import { STREAM_ENDED_CODE } from './http-transport.ts';
import { MCP_LIMITS, type McpServer, secretsOfServer } from './mcp-server.ts';

/** What this server's failures look like to the model: named, short, and without its credentials. */
export function toToolError(thrown: unknown, server: McpServer): ToolError {
  const known = causes(thrown).find((each) => each instanceof ToolError);
  if (known) return known;
  const { code, reason } = classify(thrown);
  return new ToolError(code, `MCP server ${server.name}: ${shorten(reason, server)}`, { cause: thrown });
}

/** Text of a server in the form in which it may be passed on. */
export function shorten(text: string, server: McpServer): string {
  const redactor = new Redactor();
  redactor.setSecrets(secretsOfServer(server));
  const clean = redactor.redact(text);
  return clean.length <= MCP_LIMITS.message ? clean : `${clean.slice(0, MCP_LIMITS.message)}...`;
}

/** Whether the failure is the server's word about one request, so that the connection itself is sound. */
export function isAnswer(thrown: unknown): boolean {
  if (thrown instanceof ProtocolError) return thrown.code !== STREAM_ENDED_CODE;
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout;
}

/**
 * Whether the server no longer knows the session, so that the request was not carried out and may be repeated. 404 is
 * what the protocol says; servers also answer 400.
 */
export function isLostSession(thrown: unknown): boolean {
  if (thrown instanceof SdkHttpError) return thrown.status === 404 || thrown.status === 400;
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.NotConnected;
}

/** Whether the connection ended before an answer came. */
export function isUnanswered(thrown: unknown): boolean {
  return causes(thrown).some((each) => each instanceof ToolError && each.code === 'unreachable');
}

/** Whether a server that answers so may speak the older transport (4xx other than about credentials and limits). */
export function mayBeOlderServer(thrown: unknown): boolean {
  const status = causes(thrown).find((each) => each instanceof SdkHttpError)?.status ?? 0;
  return status >= 400 && status < 500 && ![401, 403, 407, 429].includes(status);
}

function classify(thrown: unknown): { code: string; reason: string } {
  const chain = causes(thrown);
  if (chain.some((each) => each instanceof UnauthorizedError || each instanceof InsufficientScopeError)) {
    return { code: 'mcp_unauthorized', reason: 'it refuses the credentials it was given.' };
  }
  const http = chain.find((each) => each instanceof SdkHttpError);
  if (http?.status === 401 || http?.status === 403) {
    return { code: 'mcp_unauthorized', reason: `it refuses access (HTTP ${http.status}).` };
  }
  if (http) return { code: 'mcp_unavailable', reason: `it answered HTTP ${http.status}: ${messageOf(http)}` };
  if (
    chain.some(
      (each) => each instanceof TimeoutError || (each instanceof SdkError && each.code === SdkErrorCode.RequestTimeout),
    )
  ) {
    return { code: 'timeout', reason: 'it did not answer in time.' };
  }
  const protocol = chain.find((each) => each instanceof ProtocolError);
  if (protocol?.code === STREAM_ENDED_CODE) return { code: 'mcp_unavailable', reason: protocol.message };
  if (protocol) {
    const code = protocol.code === ProtocolErrorCode.InvalidParams ? 'invalid_arguments' : 'mcp_error';
    return { code, reason: protocol.message };
  }
  if (chain.some(isFormless)) {
    return { code: 'mcp_unavailable', reason: 'it answered in a form that the protocol does not have.' };
  }
  const sse = chain.find((each) => each instanceof SseError);
  if (sse) return { code: 'mcp_unavailable', reason: `it opened no event stream (HTTP ${sse.code ?? 'none'}).` };
  return { code: 'mcp_unavailable', reason: chain.map(messageOf).join(': ') };
}

/** The client library's error for a message or a result that fits no schema: pages of what each schema wants. */
function isFormless(thrown: unknown): boolean {
  if (thrown instanceof SdkError) return thrown.code === SdkErrorCode.InvalidResult;
  return thrown instanceof Error && thrown.name === 'ZodError';
}

/** An error and what it was caused by, outermost first. */
function causes(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let each = thrown; each !== undefined && chain.length < 8; ) {
    chain.push(each);
    each = each instanceof Error ? (each.cause ?? causeInData(each)) : undefined;
  }
  return chain;
}

/** Errors of version negotiation carry what went wrong in their data. */
function causeInData(error: Error): unknown {
  const data = error instanceof SdkError ? error.data : undefined;
  return typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined;
}
