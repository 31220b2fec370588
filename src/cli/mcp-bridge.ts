import { once } from 'node:events';
import { messageOf } from '../base/errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** How long a research may take, in milliseconds; clients have limits of their own. */
const MAX_RESEARCH_MS = 2 * 3_600_000;

/**
 * Offers the tools of a gateway's `/mcp` to a program that speaks MCP over standard input and output, until it closes them
 * (docs/mcp.md).
 */
export async function bridgeMcp(
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string },
  terminal: Pick<Terminal, 'err'>,
): Promise<ExitCode> {
  const url = URL.parse('mcp', `${baseUrl.replace(/\/(?:v1\/?)?$/, '')}/`);
  if (!url || !/^https?:$/.test(url.protocol)) {
    terminal.err(`error: ${baseUrl} is not an http or https URL; see --base-url and GATEWAY_BASE_URL\n`);
    return EXIT.usage;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const { Server } = await import('@modelcontextprotocol/server');
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const client = new Client({ name: 'research-gateway-stdio', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
  try {
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  } catch (thrown) {
    terminal.err(
      `error: ${url.href} cannot be used: ${messageOf(thrown)}. Is mcp.enabled set, and is the key right?\n`,
    );
    return EXIT.connection;
  }
  const handle = serveStdio(() => {
    const server = new Server({ name: 'research-gateway', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => client.listTools());
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const { _meta: meta, name, arguments: args } = params;
      const progressToken = meta?.progressToken;
      const onprogress = (progress: object) => {
        if (progressToken === undefined) return;
        const notification = { method: 'notifications/progress', params: { ...progress, progressToken } };
        mcpReq.notify(notification).catch(() => {});
      };
      const options = { signal: mcpReq.signal, onprogress, timeout: MAX_RESEARCH_MS };
      return await client.callTool({ name, ...(args && { arguments: args }) }, options);
    });
    return server;
  });
  await once(process.stdin, 'close');
  await handle.close();
  await client.close();
  return EXIT.completed;
}
