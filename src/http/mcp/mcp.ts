import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Answer } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import { type Call, refuseNewWork } from '../endpoint.ts';
import { readJson } from '../middleware/body.ts';
import { notFoundAt } from '../unknown-path.ts';
import { ResearchCalls } from './research-calls.ts';

/**
 * `/mcp` (docs/mcp.md): research as tools for other assistants, over streamable HTTP. Requests share no session; research
 * that goes on between them is a background response of the key's user.
 */
export async function mcp(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  if (!identity.config.mcp.enabled) throw notFoundAt(req.path);
  refuseNewWork(deps);
  const { json } = await readJson(call);
  // Loaded with the first request: most gateways serve none.
  const [{ createMcpHandler }, { researchServer }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('./research-server.ts'),
  ]);
  const handler = createMcpHandler(() => researchServer(new ResearchCalls(deps, call)));
  const answer = await handler.fetch(webRequest(call), { parsedBody: json });
  await write(res, answer, identity.context.signal);
  await handler.close();
  return { kind: 'written' };
}

/** The request as the MCP library wants it, with only the headers that it needs. */
function webRequest({ req, identity }: Call): Request {
  const headers = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name']) {
    const value = req.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  return new Request('http://gateway.invalid/mcp', { method: 'POST', headers, signal: identity.context.signal });
}

async function write(res: ServerResponse, answer: Response, signal: AbortSignal): Promise<void> {
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  try {
    for await (const chunk of answer.body ?? []) {
      if (signal.aborted) break;
      if (!res.write(chunk)) await once(res, 'drain', { signal });
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
  res.end();
}
