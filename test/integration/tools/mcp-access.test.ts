import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../../src/base/json.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { HttpMcpServer } from '../../../src/tools/mcp/mcp-server.ts';
import { createMcpTools, type McpTools } from '../../../src/tools/mcp/mcp-tools.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import { ToolError } from '../../../src/tools/tool.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { inwardHosts } from '../../support/inward-addresses.ts';
import { type ScriptedMcpServer, startScriptedMcpServer, textResult } from '../../support/scripted-mcp-server.ts';
import { patience } from '../../support/time-limit.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

const never = new AbortController().signal;
const SECRET = 'canary-secret-81af';

function open(server: Partial<HttpMcpServer> & { url: string }, given: typeof fetch = fetch): McpTools {
  return createMcpTools({ servers: [{ name: 's', ...server }], fetch: given, log: silentLogger, restMs: 0 });
}

async function echo(opened: McpTools): Promise<unknown> {
  const tool = (await opened.tools({ signal: never })).find((each) => each.name === 's.echo');
  if (!tool) return undefined;
  return (await tool.call({}, { signal: never, log: silentLogger })).result(() => 0);
}

/** The failure that the stand-in tool of an unreachable server reports. */
async function failureOf(opened: McpTools): Promise<ToolError> {
  const [tool, ...others] = await opened.tools({ signal: never });
  assert.equal(tool?.name, 's.call');
  assert.equal(others.length, 0);
  const error = await tool.call({}, { signal: never, log: silentLogger }).then(
    () => assert.fail('the server was reached'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ToolError);
  assert.ok(!`${error.message}${tool.description}`.includes(SECRET), 'a credential shows up');
  return error;
}

/** An MCP server that requires the bearer token `token`, and refers to its metadata. */
function startProtectedServer(options: { token: string; metadata?: () => string; host?: string }) {
  return startScriptedMcpServer({
    ...(options.host !== undefined && { host: options.host }),
    tools: { echo: { call: () => textResult('let in') } },
    intercept: (request, response) => {
      if (request.headers.authorization === `Bearer ${options.token}`) return false;
      const metadata = options.metadata?.();
      const challenge = metadata ? `Bearer resource_metadata="${metadata}"` : 'Bearer';
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    },
  });
}

interface TokenRequest {
  authorization: string | undefined;
  form: URLSearchParams;
}

/** An authorization server with its metadata; `resource` is the MCP server it protects. */
async function startAuthorizationServer(options: { token: string; resource?: () => string; host?: string }) {
  const tokenRequests: TokenRequest[] = [];
  const json = (response: ServerResponse, body: JsonObject) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const give = async (request: IncomingMessage, response: ServerResponse) => {
    tokenRequests.push({
      authorization: request.headers.authorization,
      form: new URLSearchParams(await text(request)),
    });
    json(response, { access_token: options.token, token_type: 'Bearer', expires_in: 3600 });
  };
  const web: WebServer = await startWebServer((request, response) => {
    const { origin } = web;
    if (request.url === '/token') return void give(request, response);
    if (request.url?.startsWith('/.well-known/oauth-authorization-server')) {
      return void json(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      });
    }
    if (request.url === '/resource') {
      return void json(response, { resource: options.resource?.() ?? origin, authorization_servers: [origin] });
    }
    response.writeHead(404).end();
  }, options.host);
  return Object.assign(web, { tokenRequests });
}

/** Text as its UTF-8 bytes in a header. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

describe('credentials for MCP servers', function () {
  // Servers are connected to until their limit of time.
  this.timeout(patience(30));
  it('are sent as the given bearer token and headers', async () => {
    await using server = await startProtectedServer({ token: SECRET });
    await using opened = open({ url: server.url, accessToken: SECRET, headers: { 'x-team': 'blue' } });
    assert.equal(await echo(opened), 'let in');
    assert.ok(server.headers.every((headers) => headers['x-team'] === 'blue'));
  });

  it('that are rejected return an error without them', async () => {
    await using server = await startProtectedServer({ token: 'another' });
    await using opened = open({ url: server.url, accessToken: SECRET });
    assert.equal((await failureOf(opened)).code, 'mcp_unauthorized');
  });

  it('are redacted from what a server returns, in any encoding', async () => {
    const key = 'server-7f3a9c2b1d4e5f60';
    const parameter = 'canary/parameter=12345';
    const bought = 'bought-token-81af-0123456789';
    await using authorization = await startAuthorizationServer({ token: bought });
    const quote = (request: IncomingMessage) =>
      JSON.stringify({ url: request.url, headers: request.headers, basic: 'user:pass-word-12345' });
    await using server = await startScriptedMcpServer({
      tools: {
        echo: {
          definition: { description: `For ${parameter}` },
          call: ({ request }) => ({
            content: [{ type: 'text', text: quote(request) }],
            structuredContent: { said: quote(request), [parameter]: encodeURIComponent(parameter) },
          }),
        },
        fail: { call: ({ request }) => ({ isError: true, content: [{ type: 'text', text: quote(request) }] }) },
      },
      intercept: (request) => {
        // The server answers at every path.
        request.url = `/${request.url}`;
        return false;
      },
    });
    const url = `${new URL(server.url).origin}/s/${key}/mcp?apiKey=${encodeURIComponent(parameter)}`;
    const basic = `Basic ${Buffer.from('user:pass-word-12345').toString('base64')}`;
    const oauth = { clientId: 'c', clientSecret: SECRET, tokenUrl: `${authorization.origin}/token` };
    const credentialSets: Pick<HttpMcpServer, 'accessToken' | 'headers' | 'oauth'>[] = [
      { accessToken: SECRET },
      { headers: { authorization: `Bearer ${SECRET}` } },
      { headers: { authorization: basic, 'x-api-key': SECRET } },
      { oauth },
    ];
    for (const credentials of credentialSets) {
      await using opened = open({ url, ...credentials });
      const tools = await opened.tools({ signal: never });
      const context = { signal: never, log: silentLogger };
      const [echoed, failed] = ['s.echo', 's.fail'].map((name) => tools.find((tool) => tool.name === name));
      const output = await echoed?.call({}, context);
      const error = await failed?.call({}, context).then(() => assert.fail('it did not fail'), String);
      const shown = `${JSON.stringify(output?.result(() => 0))} ${error} ${JSON.stringify(tools)}`;
      assert.match(shown, /\/s\//);
      for (const secret of [SECRET, key, parameter, encodeURIComponent(parameter), bought, basic.slice(6)]) {
        assert.ok(!shown.includes(secret), `${secret} in ${shown}`);
      }
      if (credentials.headers?.['x-api-key']) assert.doesNotMatch(shown, /pass-word/);
    }
  });

  it('are redacted from what a program returns that got them in its environment', async () => {
    const tool = { name: 'echo', description: 'For TOKEN', inputSchema: { type: 'object' } };
    const results = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      },
      'tools/list': { tools: [tool] },
      'tools/call': { content: [{ type: 'text', text: 'TOKEN in FOLDER' }] },
    };
    const script = `
      const { API_TOKEN, FOLDER } = process.env;
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        const result = (${JSON.stringify(results)})[method];
        const answer = { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) };
        if (id !== undefined) console.log(JSON.stringify(answer).replace('TOKEN', API_TOKEN).replace('FOLDER', FOLDER));
      });`;
    const env = { API_TOKEN: SECRET, FOLDER: '/srv/documents' };
    const program = { name: 's', command: process.execPath, args: ['-e', script], env };
    await using opened = createMcpTools({ servers: [program], fetch, log: silentLogger });
    const [tools, said] = [await opened.tools({ signal: never }), await echo(opened)];
    assert.deepEqual([tools[0]?.description, said], ['For [redacted]', '[redacted] in /srv/documents']);
  });

  it('of an OAuth client fetch a token once, and a new one when it is rejected', async () => {
    let token = 'first';
    await using authorization = await startAuthorizationServer({
      get token() {
        return token;
      },
    });
    await using server = await startScriptedMcpServer({
      tools: { echo: { call: () => textResult('let in') } },
      intercept: (request, response) => {
        if (request.headers.authorization === `Bearer ${token}`) return false;
        response.writeHead(401).end();
        return true;
      },
    });
    const oauth = {
      clientId: 'client:1',
      clientSecret: SECRET,
      tokenUrl: `${authorization.origin}/token`,
      scope: 'read',
    };
    await using opened = open({ url: server.url, oauth });
    assert.equal(await echo(opened), 'let in');
    assert.equal(await echo(opened), 'let in');
    assert.equal(authorization.tokenRequests.length, 1);
    const [first] = authorization.tokenRequests;
    assert.equal(first?.authorization, `Basic ${Buffer.from(`client%3A1:${SECRET}`).toString('base64')}`);
    assert.deepEqual(Object.fromEntries(first?.form ?? []), {
      grant_type: 'client_credentials',
      resource: server.url,
      scope: 'read',
    });
    token = 'second';
    assert.equal(await echo(opened), 'let in');
    assert.equal(authorization.tokenRequests.length, 2);
  });

  it('of an OAuth client find the token endpoint in the metadata of the configured issuer', async () => {
    let server: ScriptedMcpServer | undefined;
    await using authorization = await startAuthorizationServer({ token: 'bought', resource: () => server?.url ?? '' });
    server = await startProtectedServer({ token: 'bought', metadata: () => `${authorization.origin}/resource` });
    await using _server = server;
    const oauth = { clientId: 'c', clientSecret: SECRET, issuer: authorization.origin };
    await using opened = open({ url: server.url, oauth, headers: { 'x-api-key': SECRET } });
    assert.equal(await echo(opened), 'let in');
    assert.ok(server.headers.every((headers) => headers['x-api-key'] === SECRET));
    assert.equal(authorization.tokenRequests.length, 1);
  });

  it('of an OAuth client go only to the configured authorization server, whatever the metadata say', async () => {
    for (const issuer of ['https://login.example.com', undefined]) {
      let server: ScriptedMcpServer | undefined;
      await using thief = await startAuthorizationServer({ token: 'bought', resource: () => server?.url ?? '' });
      server = await startProtectedServer({ token: 'bought', metadata: () => `${thief.origin}/resource` });
      await using _server = server;
      const oauth = { clientId: 'c', clientSecret: SECRET, ...(issuer !== undefined && { issuer }) };
      await using opened = open({ url: server.url, oauth });
      await failureOf(opened);
      assert.equal(thief.tokenRequests.length, 0);
    }
  });

  it('do not follow a redirect to another origin', async () => {
    await using thief = await startWebServer((_request, response) => response.writeHead(404).end());
    await using server = await startWebServer((_request, response) =>
      response.writeHead(307, { location: `${thief.origin}/mcp` }).end(),
    );
    await using opened = open({ url: `${server.origin}/mcp`, accessToken: SECRET, headers: { 'x-api-key': SECRET } });
    await failureOf(opened);
    const oauth = { clientId: 'c', clientSecret: SECRET, tokenUrl: `${server.origin}/token` };
    await using buying = open({ url: `${server.origin}/mcp`, oauth });
    await failureOf(buying);
    assert.equal(thief.requests.length, 0);
  });
});

describe('MCP servers of a request cannot reach internal addresses', function () {
  // Servers are connected to until their limit of time.
  this.timeout(patience(30));
  /** Listens on all interfaces, so that every notation that gets through is seen. */
  let inside: WebServer;
  let safe: SafeFetch;
  before(async () => {
    inside = await startWebServer((_request, response) => response.writeHead(404).end(), '::');
    safe = createSafeFetch();
  });
  after(async () => {
    await safe[Symbol.asyncDispose]();
    await inside[Symbol.asyncDispose]();
  });
  const hosts = inwardHosts();
  const url = (host: string, path: string) => `http://${host}:${inside.port}${path}`;

  it('with at least sixty notations to try', () => {
    assert.ok(hosts.length >= 60, `${hosts.length}`);
  });

  it('by their URL', async () => {
    for (const host of hosts) {
      await using opened = open({ url: url(host, '/mcp'), accessToken: SECRET }, safe.fetch);
      const { code } = await failureOf(opened);
      assert.ok(['blocked_address', 'blocked_host', 'unreachable'].includes(code), `${host}: ${code}`);
    }
    assert.equal(inside.connections(), 0);
  });

  it('by a token URL, by metadata, or by the authorization server that metadata name', async () => {
    await using outside = createSafeFetch({ allowAddresses: ['127.0.0.2'] });
    let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
    await using server = await startWebServer((request, response) => answer(request, response), '127.0.0.2');
    for (const host of hosts) {
      answer = (_request, response) =>
        response
          .writeHead(401, { 'www-authenticate': headerText(`Bearer resource_metadata="${url(host, '/resource')}"`) })
          .end();
      const oauth = { clientId: 'c', clientSecret: SECRET };
      await using token = open(
        { url: `${server.origin}/mcp`, oauth: { ...oauth, tokenUrl: url(host, '/token') } },
        outside.fetch,
      );
      await failureOf(token);
      await using metadata = open(
        { url: `${server.origin}/mcp`, oauth: { ...oauth, issuer: url(host, '') } },
        outside.fetch,
      );
      await failureOf(metadata);
      answer = (request, response) => {
        if (request.url === '/resource') {
          const body = { resource: `${server.origin}/mcp`, authorization_servers: [url(host, '')] };
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
          return;
        }
        response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${server.origin}/resource"` }).end();
      };
      await using named = open(
        { url: `${server.origin}/mcp`, oauth: { ...oauth, issuer: url(host, '') } },
        outside.fetch,
      );
      await failureOf(named);
    }
    assert.equal(inside.connections(), 0);
    assert.ok(server.connections() > 0);
  });

  it('by redirects of the server, of the SSE transport, or of the authorization server', async () => {
    await using outside = createSafeFetch({ allowAddresses: ['127.0.0.2'] });
    let target = '';
    await using server = await startWebServer((request, response) => {
      const older = request.url === '/older' && request.method === 'POST';
      response.writeHead(older ? 405 : 302, { location: headerText(target) }).end();
    }, '127.0.0.2');
    for (const host of hosts.slice(0, 20)) {
      target = url(host, '/mcp');
      for (const path of ['/mcp', '/older']) {
        await using opened = open({ url: server.origin + path, accessToken: SECRET }, outside.fetch);
        await failureOf(opened);
      }
      const oauth = { clientId: 'c', clientSecret: SECRET, tokenUrl: `${server.origin}/token` };
      await using buying = open({ url: `${server.origin}/mcp`, oauth }, outside.fetch);
      await failureOf(buying);
    }
    assert.equal(inside.connections(), 0);
  });

  it('by the message endpoint of the SSE transport', async () => {
    await using outside = createSafeFetch({ allowAddresses: ['127.0.0.2'] });
    await using server = await startWebServer((request, response) => {
      if (request.method === 'POST') return void response.writeHead(405).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${url('127.0.0.1', '/message')}\n\n`);
    }, '127.0.0.2');
    await using opened = open({ url: `${server.origin}/sse` }, outside.fetch);
    await failureOf(opened);
    assert.equal(inside.connections(), 0);
  });

  it('by DNS rebinding', async () => {
    let questions = 0;
    await using dns = await startDnsServer(({ type }) => {
      questions++;
      if (type !== 'A') return [];
      return questions % 2 === 0 ? ['127.0.0.1'] : ['93.184.216.34', '127.0.0.1'];
    });
    await using rebound = createSafeFetch({ resolve: dns.resolve, timeouts: { connectMs: 300 } });
    for (let i = 0; i < 4; i++) {
      await using opened = open({ url: url('rebinding.example.com', '/mcp') }, rebound.fetch);
      await failureOf(opened);
    }
    assert.ok(questions > 0);
    assert.equal(inside.connections(), 0);
  });

  it('and are cut off if they answer more than the fetch allows', async () => {
    await using small = createSafeFetch({ allowAddresses: ['127.0.0.2'], maxBytes: 100_000 });
    await using server = await startScriptedMcpServer({
      host: '127.0.0.2',
      tools: { echo: { call: () => textResult('x'.repeat(200_000)) }, fine: { call: () => textResult('fine') } },
    });
    await using opened = open({ url: server.url }, small.fetch);
    const tools = await opened.tools({ signal: never });
    await assert.rejects(
      async () => await tools[0]?.call({}, { signal: never, log: silentLogger }),
      (error) => error instanceof ToolError && error.code === 'too_large',
    );
    const output = await tools[1]?.call({}, { signal: never, log: silentLogger });
    assert.equal(
      output?.result(() => 0),
      'fine',
    );
  });
});
