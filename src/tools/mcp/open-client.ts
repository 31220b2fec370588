import {
  Client,
  type ClientOptions,
  SSEClientTransport,
  SseError,
  type StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { abortable, linkSignals } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { boundTransport } from './bounded-messages.ts';
import { authProviderOf } from './credentials.ts';
import { limitReconnections, TolerantHttpTransport } from './http-transport.ts';
import { mayBeOlderServer, redactAndCut } from './mcp-errors.ts';
import type { HttpMcpServer, McpServer, StdioMcpServer } from './mcp-server.ts';
import { serverFetch } from './server-fetch.ts';
import { readingProbe } from './version-probe.ts';

export interface OpenOptions {
  fetch: typeof fetch;
  log: Logger;
  /** Called when the connection is closed, for whatever reason. */
  onClose(): void;
  /** Called when the server reports that its list of tools has changed. */
  onToolsChanged(): void;
  signal: AbortSignal;
}

/** A connection to a server, ready for requests. Disposing it ends the session and the server's process. */
export interface McpClient extends AsyncDisposable {
  readonly client: Client;
}

/** The time limit of each attempt: the handshake and the OAuth requests that it needs. */
const CONNECT_TIMEOUT_MS = 15_000;
/** The time limit of telling a server that its session is over. */
const GOODBYE_TIMEOUT_MS = 1_000;
/** The largest single message of a program, in bytes. */
const STDIO_BUFFER_BYTES = 10 * 1024 * 1024;

/**
 * Connects to a server by streamable HTTP, or by the older transport if the server refuses that with a 4xx; or starts a
 * program of the configuration. Rejects with whatever the library throws.
 */
export async function openClient(server: McpServer, options: OpenOptions): Promise<McpClient> {
  if ('command' in server) return await connect(stdioTransport(server, options), server, options);
  try {
    return await connect(streamableTransport(server, options), server, options);
  } catch (error) {
    if (!mayBeOlderServer(error) || options.signal.aborted) throw error;
    options.log.debug({ server: server.name }, 'trying the older MCP transport');
    const older = new SSEClientTransport(new URL(server.url), httpOptions(server, options));
    // If the second attempt finds no event stream, either, the first refusal explains more.
    return await connect(older, server, options).catch((fallback: unknown) => {
      throw fallback instanceof SseError ? error : fallback;
    });
  }
}

async function connect(transport: Transport, server: McpServer, options: OpenOptions): Promise<McpClient> {
  const client = new Client({ name: 'research-gateway', version: '0.1.0' }, clientOptions(options));
  client.onerror = (error) => {
    options.log.debug({ server: server.name, reason: redactAndCut(messageOf(error), server) }, 'MCP connection');
    // Otherwise the event source would reconnect by itself, with a session that the server no longer knows.
    if (error instanceof SseError) void client.close();
  };
  using linked = linkSignals([options.signal], {
    what: `connecting to the MCP server ${server.name}`,
    timeoutMs: CONNECT_TIMEOUT_MS,
  });
  const { signal } = linked;
  // Version negotiation uses the transport before the client owns it, so closing the client is not enough.
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped = transport.close().catch(() => {});
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await abortable(client.connect(transport, { signal, timeout: CONNECT_TIMEOUT_MS }), signal);
  } catch (error) {
    await stopped;
    await close(client, transport);
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  boundTransport(transport);
  client.onclose = options.onClose;
  return { client, [Symbol.asyncDispose]: () => close(client, transport) };
}

/** The gateway offers servers no capabilities: no sampling, no elicitation, no roots. */
function clientOptions(options: OpenOptions): ClientOptions {
  return {
    capabilities: {},
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: CONNECT_TIMEOUT_MS / 3 } },
    listChanged: { tools: { autoRefresh: false, onChanged: () => options.onToolsChanged() } },
  };
}

function streamableTransport(server: HttpMcpServer, options: OpenOptions): StreamableHTTPClientTransport {
  const { fetch, ...http } = httpOptions(server, options);
  return new TolerantHttpTransport(new URL(server.url), {
    ...http,
    fetch: readingProbe(fetch),
    reconnectionScheduler: limitReconnections(),
    onInsufficientScope: 'throw',
  });
}

function httpOptions(server: HttpMcpServer, options: OpenOptions) {
  const authProvider = authProviderOf(server, options.fetch);
  return { fetch: serverFetch(server, options.fetch), ...(authProvider && { authProvider }) };
}

function stdioTransport(server: StdioMcpServer, options: OpenOptions): StdioClientTransport {
  const transport = new StdioClientTransport({
    command: server.command,
    args: [...(server.args ?? [])],
    env: { ...server.env },
    stderr: 'pipe',
    maxBufferSize: STDIO_BUFFER_BYTES,
  });
  transport.stderr?.on('data', (chunk: Buffer) => {
    const text = redactAndCut(chunk.toString().trim(), server);
    options.log.debug({ server: server.name, stderr: text }, 'MCP server says');
  });
  return transport;
}

async function close(client: Client, transport: Transport): Promise<void> {
  if (transport instanceof TolerantHttpTransport && transport.sessionId !== undefined) {
    const timer = setTimeout(() => void transport.close(), GOODBYE_TIMEOUT_MS);
    await transport.terminateSession().catch(() => {});
    clearTimeout(timer);
  }
  await client.close().catch(() => {});
  await transport.close().catch(() => {});
}
