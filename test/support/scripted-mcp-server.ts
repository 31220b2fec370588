import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { isObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { startWebServer, type WebServer } from './web-server.ts';

/** The reaction of a scripted tool to a call: returns a result, or takes over the response. */
export type ScriptedCall = (call: {
  id: JsonValue;
  args: JsonObject;
  progressToken: JsonValue;
  request: IncomingMessage;
  response: ServerResponse;
}) => JsonObject | undefined;

export interface ScriptedMcpOptions {
  tools: Record<string, { definition?: JsonObject; call: ScriptedCall }>;
  /** The result of `tools/list`; by default `tools` on one page. */
  listed?: (params: Record<string, unknown>) => JsonObject | Promise<JsonObject>;
  /** Answers requests whose method or tool is unknown. Default: with a JSON-RPC error. */
  unknown?: (response: ServerResponse) => void;
  /** The status of the answer to notifications. Default: 202. */
  notified?: number;
  /** Looks at every request first; true if it has answered. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  host?: string;
}

export interface ScriptedMcpServer extends WebServer {
  /** JSON-RPC methods received, in order. */
  readonly methods: string[];
  /** Headers of every request, in order. */
  readonly headers: NodeJS.Dict<string | string[]>[];
  readonly url: string;
}

/** A small MCP server over streamable HTTP that follows its script, even if that is invalid. */
export async function startScriptedMcpServer(options: ScriptedMcpOptions): Promise<ScriptedMcpServer> {
  const methods: string[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const web = await startWebServer((request, response) => {
    headers.push(request.headers);
    if (options.intercept?.(request, response)) return;
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    void answer(request, response).catch(() => response.destroy());
  }, options.host);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message: unknown = await json(request);
    if (!isObject(message) || typeof message.method !== 'string') return void response.writeHead(400).end();
    methods.push(message.method);
    const id = typeof message.id === 'number' || typeof message.id === 'string' ? message.id : null;
    if (id === null) return void response.writeHead(options.notified ?? 202).end();
    const params = isObject(message.params) ? message.params : {};
    if (message.method === 'initialize') {
      return reply(response, id, {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'scripted', version: '1' },
      });
    }
    if (message.method === 'tools/list')
      return reply(response, id, (await options.listed?.(params)) ?? { tools: definitions(options) });
    const tool = message.method === 'tools/call' ? options.tools[String(params.name)] : undefined;
    if (!tool && options.unknown) return options.unknown(response);
    if (!tool) return replyError(response, id, { code: -32_601, message: 'unknown method or tool' });
    const meta = isObject(params._meta) ? params._meta : {};
    const progressToken = typeof meta.progressToken === 'number' ? meta.progressToken : null;
    const args: JsonObject = JSON.parse(JSON.stringify(params.arguments ?? {}));
    const result = tool.call({ id, args, progressToken, request, response });
    if (result) reply(response, id, result);
  }

  return Object.assign(web, { methods, headers, url: `${web.origin}/mcp` });
}

/** A JSON-RPC result as plain JSON. */
export function reply(response: ServerResponse, id: JsonValue, result: JsonObject): undefined {
  send(response, { jsonrpc: '2.0', id, result });
}

export function replyError(response: ServerResponse, id: JsonValue, error: JsonObject): undefined {
  send(response, { jsonrpc: '2.0', id, error });
}

/** One server-sent event of an answer that is a stream. */
export function event(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}

/** A text result. */
export function textResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }] };
}

function send(response: ServerResponse, message: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
}

function definitions(options: ScriptedMcpOptions): JsonValue {
  return Object.entries(options.tools).map(([name, tool]) => ({
    name,
    inputSchema: { type: 'object' },
    ...tool.definition,
  }));
}
