import type { Client, Tool as ListedTool } from '@modelcontextprotocol/client';
import { abortable, withTimeout } from '../../base/abort.ts';
import { monotonicClock } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import { StallDetector } from '../../base/load/stall.ts';
import { type Logger, REDACTED } from '../../base/logger.ts';
import { SecretMask } from '../../base/secrets/secret-mask.ts';
import type { ToolContext, ToolError, ToolOutput } from '../tool.ts';
import { toToolOutput } from './call-result.ts';
import { isConnectionLost, isLostSession, isRequestFailure, toToolError } from './mcp-errors.ts';
import { DEFAULT_TIMEOUT_MS, MCP_LIMITS, type McpServer, quotableSecrets, TOTAL_TIMEOUT_FACTOR } from './mcp-server.ts';
import { type McpClient, openClient } from './open-client.ts';
import { type RemoteTool, type ServerTools, serverTools } from './remote-tool.ts';

/** The time limit of the list of tools, in milliseconds, however many pages it takes: runs wait for it before they begin. */
const LISTING_TIMEOUT_MS = 15_000;

export interface McpConnectionOptions {
  fetch: typeof fetch;
  log: Logger;
  /** How long a list of tools is valid, in milliseconds. */
  listLifetimeMs: number;
  /** How long a server that could not be reached, or did not list its tools, is not retried, in milliseconds. */
  restMs: number;
}

/**
 * The connection to one server, opened when first needed and again after it was lost. All callers that wait share one
 * attempt to connect, so the abort of one of them does not end it.
 */
export class McpConnection implements AsyncDisposable {
  readonly server: McpServer;
  /** Masks the credentials of a program. `serverFetch` masks those of an HTTP server. */
  readonly #mask: SecretMask | undefined;
  readonly #options: McpConnectionOptions;
  readonly #closing = new AbortController();
  #opening: Promise<McpClient> | undefined;
  /** How many calls use each connection. */
  readonly #users = new Map<Promise<McpClient>, number>();
  #failure: { error: ToolError; until: number } | undefined;
  #list: { offered: ServerTools; until: number } | undefined;
  #listing: Promise<ServerTools> | undefined;

  constructor(server: McpServer, options: McpConnectionOptions) {
    this.server = server;
    const secrets = 'command' in server ? quotableSecrets(server) : [];
    this.#mask = secrets.length > 0 ? new SecretMask(secrets) : undefined;
    this.#options = options;
  }

  /**
   * The server's tools. If the list cannot be refreshed, the old one is used.
   * @throws ToolError if the server has never been reached.
   */
  async tools(options: { signal: AbortSignal }): Promise<ServerTools> {
    if (this.#list && monotonicClock.now() < this.#list.until) return this.#list.offered;
    if (this.#failure && monotonicClock.now() < this.#failure.until && !this.#list) throw this.#failure.error;
    this.#listing ??= this.#refreshList().finally(() => {
      this.#listing = undefined;
    });
    return await abortable(this.#listing, options.signal);
  }

  /**
   * Calls a tool. A request that the server did not carry out, because it forgot the session or closed the connection while
   * this process was suspended, is repeated once.
   * @throws ToolError; rejects with the signal's reason as soon as it aborts.
   */
  async call(tool: RemoteTool, args: JsonObject, context: ToolContext): Promise<ToolOutput> {
    const { server } = this;
    try {
      return await this.#retryOnce(context.signal, async (client) => {
        const result = await abortable(this.#request(client, tool, args, context), context.signal);
        return toToolOutput(result, server);
      });
    } catch (error) {
      // The library reports an abort as a timeout.
      context.signal.throwIfAborted();
      throw toToolError(error, server);
    }
  }

  /** Ends the session and, for a program, its process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the MCP connection is closed'));
    await Promise.all([...new Set([this.#opening, ...this.#users.keys()])].map((opening) => this.#drop(opening)));
  }

  async #request(client: Client, tool: RemoteTool, args: JsonObject, context: ToolContext) {
    const timeout = this.server.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const result = await client.callTool(
      { name: tool.name, arguments: args },
      {
        signal: context.signal,
        timeout,
        maxTotalTimeout: timeout * TOTAL_TIMEOUT_FACTOR,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total }) =>
          context.log.debug({ server: this.server.name, tool: tool.name, progress, total }, 'MCP progress'),
        toolDefinition: tool.definition,
      },
    );
    return this.#redact(result);
  }

  /** Masks the server's credentials in an answer. */
  #redact<T>(answer: T): T {
    if (!this.#mask) return answer;
    const text = JSON.stringify(answer);
    const clean = this.#mask.maskText(text, REDACTED);
    return clean === text ? answer : JSON.parse(clean);
  }

  /** Does `work` with a connection, and once more with a new one if the first was stale. */
  async #retryOnce<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    using watch = new StallDetector();
    for (let attempt = 1; ; attempt++) {
      const opening = this.#open();
      const { client } = await abortable(opening, signal);
      this.#users.set(opening, (this.#users.get(opening) ?? 0) + 1);
      try {
        return await work(client);
      } catch (error) {
        if (signal.aborted || isRequestFailure(error)) throw error;
        // The next calls get a new connection; those in flight on this one may still succeed.
        this.#forget(opening);
        // Servers close the connections of a suspended client; a request in flight then was not carried out.
        const isLost = isLostSession(error) || (watch.hasStalled && isConnectionLost(error));
        if (attempt > 1 || !isLost) throw error;
      } finally {
        this.#release(opening);
      }
    }
  }

  #open(): Promise<McpClient> {
    if (this.#opening) return this.#opening;
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason);
    if (this.#failure && monotonicClock.now() < this.#failure.until) return Promise.reject(this.#failure.error);
    const opening: Promise<McpClient> = this.#openWithRetry(() => this.#forget(opening));
    this.#opening = opening;
    opening.then(
      () => {
        this.#failure = undefined;
      },
      (thrown: unknown) => {
        this.#forget(opening);
        const error = toToolError(thrown, this.server);
        this.#failure = { error, until: monotonicClock.now() + this.#options.restMs };
        this.#options.log.warn({ server: this.server.name, reason: error.message }, 'an MCP server cannot be reached');
      },
    );
    return opening;
  }

  /** Opens a client; retries if this process was suspended meanwhile, because time limits then mean nothing. */
  async #openWithRetry(onClose: () => void): Promise<McpClient> {
    const options = {
      fetch: this.#options.fetch,
      log: this.#options.log,
      signal: this.#closing.signal,
      onClose,
      onToolsChanged: () => {
        if (this.#list) this.#list.until = 0;
      },
    };
    using watch = new StallDetector();
    try {
      return await openClient(this.server, options);
    } catch (error) {
      if (!watch.hasStalled || options.signal.aborted) throw error;
      return await openClient(this.server, options);
    }
  }

  #forget(opening: Promise<McpClient>): void {
    if (this.#opening === opening) this.#opening = undefined;
  }

  /** Ends a use of a connection; the last use of one that gets no new calls closes it. */
  #release(opening: Promise<McpClient>): void {
    const users = (this.#users.get(opening) ?? 1) - 1;
    if (users > 0) {
      this.#users.set(opening, users);
      return;
    }
    this.#users.delete(opening);
    if (this.#opening !== opening) void this.#drop(opening);
  }

  async #drop(opening: Promise<McpClient> | undefined): Promise<void> {
    if (!opening) return;
    this.#forget(opening);
    const opened = await opening.catch(() => undefined);
    await opened?.[Symbol.asyncDispose]();
  }

  async #refreshList(): Promise<ServerTools> {
    try {
      const listed = await this.#retryOnce(this.#closing.signal, (client) => this.#listTools(client));
      const offered = serverTools(listed, this.server, this.#options.log);
      this.#list = { offered, until: monotonicClock.now() + this.#options.listLifetimeMs };
      return offered;
    } catch (thrown) {
      // Every run would wait for a server that is silent.
      const rested = { error: toToolError(thrown, this.server), until: monotonicClock.now() + this.#options.restMs };
      if (!this.#list) {
        this.#failure = rested;
        throw rested.error;
      }
      this.#list.until = rested.until;
      return this.#list.offered;
    }
  }

  async #listTools(client: Client) {
    if (!client.getServerCapabilities()?.tools) return [];
    const timeout = Math.min(this.server.timeoutMs ?? DEFAULT_TIMEOUT_MS, LISTING_TIMEOUT_MS);
    const { server } = this;
    const list = (signal: AbortSignal) => this.#listedTools(client, { timeout, signal });
    const { signal } = this.#closing;
    try {
      const tools = await withTimeout(`the list of tools of ${server.name}`, timeout, list, { signal });
      return this.#redact(tools);
    } catch (thrown) {
      const reason = toToolError(thrown, server).message;
      if (!signal.aborted)
        this.#options.log.warn({ server: server.name, reason }, 'an MCP server did not list its tools');
      throw thrown;
    }
  }

  /** The tools of a list's first pages; the library would refuse a list that has more as a whole. */
  async #listedTools(client: Client, options: { timeout: number; signal: AbortSignal }): Promise<ListedTool[]> {
    const listed: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 1; page <= MCP_LIMITS.pagesOfTools; page++) {
      const request = { method: 'tools/list', ...(cursor !== undefined && { params: { cursor } }) } as const;
      const { tools, nextCursor } = await client.request(request, options);
      listed.push(...tools);
      if (nextCursor === undefined || nextCursor === cursor) return listed;
      cursor = nextCursor;
    }
    const { name: server } = this.server;
    this.#options.log.warn({ server, pages: MCP_LIMITS.pagesOfTools }, 'further pages of tools are not read');
    return listed;
  }
}
