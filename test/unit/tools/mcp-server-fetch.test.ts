import assert from 'node:assert/strict';
import { serverFetch } from '../../../src/tools/mcp/server-fetch.ts';

describe('requests of an MCP server', () => {
  it('have its headers at its own origin only, not at an authorization server that its metadata name', async () => {
    const sent: (string | null)[] = [];
    const headers = { 'x-api-key': 'secret-0123456789' };
    const server = { name: 's', url: 'https://mcp.example/mcp', transport: 'http' as const, headers };
    const fetch = serverFetch(server as never, async (_input, init) => {
      sent.push(new Headers(init?.headers).get('x-api-key'));
      return new Response('{}');
    });
    for (const url of ['https://mcp.example/other', 'https://login.example/token', 'https://mcp.example:8443/mcp'])
      await fetch(url, { method: 'POST' });
    assert.deepEqual(sent, ['secret-0123456789', null, null]);
  });
});
