import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { z } from 'zod';
import { errorBody } from '../../src/protocol/errors.ts';
import { openApiDocument } from '../../src/protocol/openapi/openapi.ts';
import { SEED } from '../support/fuzz.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';
import { type RandomRequest, randomRequest } from '../support/random-requests.ts';
import { patience } from '../support/time-limit.ts';

/** Requests to each endpoint; `npm run fuzz` sends 10 000. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 40);
/** Requests under way at once. */
const PARALLEL = 32;
const ANSWERED_WITHIN_MS = 30_000;

/**
 * Statuses of docs/api.md, "Errors" that a client can cause; 503 (`overloaded`) if it sends too many requests.
 */
const DOCUMENTED = new Set([400, 401, 403, 404, 405, 413, 415, 422, 429, 503]);
/** Targets that openapi.json does not list: other APIs, operator pages and unknown paths. */
const OTHERS = [
  'POST /v1/embeddings',
  'POST /v1/audio/speech',
  'GET /readyz',
  'GET /console',
  'GET /docs',
  'GET /{id}',
];

/** Endpoints that random requests are not expected to get a 200 from. */
const NEVER_THROUGH = [
  'GET /{id}',
  'GET /admin/overview',
  'GET /admin/usage',
  'GET /admin/audit',
  'GET /admin/config',
  'GET /admin/responses/{id}/turns/{turn}',
  'GET /admin/keys',
  'POST /admin/keys',
  'GET /admin/keys/{id}',
  'PATCH /admin/keys/{id}',
  'DELETE /admin/keys/{id}',
  'POST /admin/keys/{id}/rotate',
  'GET /admin/keys/{id}/explain',
  'GET /console',
  'POST /v1/files',
  'POST /v1/vector_stores/{id}/search',
  'POST /v1/vector_stores/{id}/files',
  'GET /v1/vector_stores/{id}/files/{file}',
  'POST /v1/vector_stores/{id}/files/{file}',
  'DELETE /v1/vector_stores/{id}/files/{file}',
  'GET /v1/vector_stores/{id}/files/{file}/content',
  'POST /v1/vector_stores/{id}/file_batches',
  'GET /v1/vector_stores/{id}/file_batches/{batch}',
  'POST /v1/vector_stores/{id}/file_batches/{batch}/cancel',
  'GET /v1/vector_stores/{id}/file_batches/{batch}/files',
  'GET /v1/webhook_deliveries',
  'POST /v1/webhook_deliveries/{id}/redeliver',
];

describe('random requests', () => {
  let gateway: TestGateway;
  const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });
  before(async () => {
    gateway = await openGateway({ runs: { max_queued: 1_000_000 } });
  });
  after(async () => {
    agent.destroy();
    await gateway[Symbol.asyncDispose]();
  });

  const { paths = {} } = openApiDocument();
  const listed = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );

  for (const endpoint of [...listed, ...OTHERS]) {
    it(`${REQUESTS} to ${endpoint} get only documented statuses and errors`, async () => {
      const [method = '', path = ''] = endpoint.split(' ');
      const conversations = await someConversations(gateway);
      const isFile = path.startsWith('/v1/files/');
      const isConversation = path.startsWith('/v1/conversations/');
      const isStore = path.startsWith('/v1/vector_stores/');
      const made = isFile ? someFiles(gateway) : isStore ? someVectorStores(gateway) : someRuns(gateway);
      const ids = isConversation ? conversations.ids : await made;
      const known = { ...conversations, secrets: [KEYS.bob, KEYS.ann], ids };
      const statuses = new Map<number, number>();
      // In batches, so that ten thousand are not in memory at once.
      for (let done = 0; done < REQUESTS; done += 1000) {
        const numRuns = Math.min(1000, REQUESTS - done);
        const requests = fc.sample(randomRequest({ method, path }, known), { numRuns, seed: SEED + done });
        const worker = async () => {
          for (let next = requests.pop(); next; next = requests.pop()) {
            const status = await send(gateway, { ...next, agent });
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        };
        await Promise.all(Array.from({ length: PARALLEL }, worker));
      }
      const sum = [...statuses.values()].reduce((all, count) => all + count, 0);
      assert.equal(sum, REQUESTS);
      const shown = JSON.stringify([...statuses]);
      if (REQUESTS >= 10_000) console.log(`      ${shown}`);
      assert.ok((statuses.get(503) ?? 0) < REQUESTS / 10, shown);
      if (!NEVER_THROUGH.includes(endpoint)) {
        assert.ok((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0) > 0, `none got through: ${shown}`);
      }
    }).timeout(patience(60 + REQUESTS * 0.03));
  }
});

/** Creates vector stores, one of them of another user. */
async function someVectorStores({ url }: TestGateway): Promise<string[]> {
  const made = [KEYS.bob, KEYS.bob, KEYS.ann].map(async (secret) => {
    const headers = { authorization: `Bearer ${secret}` };
    const answer = await fetch(`${url}/v1/vector_stores`, { method: 'POST', headers });
    return String(JSON.parse(await answer.text()).id);
  });
  return await Promise.all(made);
}

/** Creates runs, some of another user. Returns their ids, models and one unknown id. */
async function someRuns({ url }: TestGateway): Promise<string[]> {
  const ids: string[] = [];
  for (const secret of [KEYS.bob, KEYS.bob, KEYS.ann]) {
    for (const [path, question] of [
      ['/v1/responses', { input: 'a', background: true }],
      ['/v1/async', { messages: [{ role: 'user', content: 'a' }] }],
    ] as const) {
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'deep', ...question }),
      });
      ids.push(z.object({ id: z.string() }).parse(await answer.json()).id);
    }
  }
  return [...ids, 'deep', 'gpt', 'resp_00000000-0000-4000-8000-000000000000'];
}

/** Creates files, one of them of another user. */
async function someFiles({ url }: TestGateway): Promise<string[]> {
  const ids: string[] = [];
  for (const secret of [KEYS.bob, KEYS.bob, KEYS.bob, KEYS.ann]) {
    const body = new FormData();
    body.set('purpose', 'user_data');
    body.set('file', new Blob(['some text']), 'a.txt');
    const answer = await fetch(`${url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body,
    });
    ids.push(z.object({ id: z.string() }).parse(await answer.json()).id);
  }
  return ids;
}

/** Creates conversations with items, one of them of another user. */
async function someConversations({ url }: TestGateway): Promise<{ ids: string[]; items: string[] }> {
  const ids: string[] = [];
  const items: string[] = [];
  for (const secret of [KEYS.bob, KEYS.bob, KEYS.bob, KEYS.ann]) {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ items: [{ role: 'user', content: 'a' }] });
    const answer = await fetch(`${url}/v1/conversations`, { method: 'POST', headers, body });
    const { id } = z.object({ id: z.string() }).parse(await answer.json());
    const listed = await fetch(`${url}/v1/conversations/${id}/items`, { headers });
    items.push(z.object({ first_id: z.string() }).parse(await listed.json()).first_id);
    ids.push(id);
  }
  return { ids, items };
}

/** Sends a request and returns its status; checks that the status and error object are documented. */
function send({ url }: TestGateway, sent: RandomRequest & { agent: Agent }): Promise<number> {
  const { method, target, headers, body, agent } = sent;
  const shown = `FUZZ_SEED=${SEED}: ${method} ${target} ${JSON.stringify(headers)} ${JSON.stringify(body.toString().slice(0, 1500))}`;
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown) => reject(new Error(shown, { cause }));
    const { port } = new URL(url);
    const req = request({ host: '127.0.0.1', port, path: target, method, agent }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', failed);
      res.on('end', () => {
        try {
          check({ status: res.statusCode ?? 0, text: Buffer.concat(chunks).toString(), method });
          resolve(res.statusCode ?? 0);
        } catch (thrown) {
          failed(thrown);
        }
      });
    });
    req.setTimeout(ANSWERED_WITHIN_MS, () => req.destroy(new Error('no answer in time')));
    req.on('error', failed);
    for (const [name, value] of headers) req.setHeader(name, value);
    if (body.length > 0) req.setHeader('content-length', body.length);
    req.end(body);
  });
}

function check({ status, text, method }: { status: number; text: string; method: string }): void {
  // Some requests are valid by chance; the test gateway's proxy echoes them. Redirects lead to pages.
  if ([200, 201, 204, 301, 302, 308].includes(status)) return;
  assert.ok(DOCUMENTED.has(status), `status ${status} ${text.slice(0, 300)}`);
  if (method !== 'HEAD') errorBody.strict().parse(JSON.parse(text));
}
