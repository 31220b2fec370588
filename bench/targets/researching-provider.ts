import { readdir, readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makePages } from '../eval/pages/made/all-layouts.ts';

/**
 * A provider that researches, and the pages that it reads: 40 turns of one call each, every fourth a search, the others a
 * page that no run has read before. It answers after 0.2 s. With a folder, its `.html` files are the pages; else pages are made.
 */
const TURNS = 40;
const ANSWER_MS = 200;
const PAGE_BYTES = 193_000;
/** Half of what pages hold beside their text is scripts. */
const SCRIPT = `<script>${'window.__state=window.__state||[];'.repeat(3000)}</script>`;

const pages = await pagesOf(process.argv[2]);
const turns = new Map<string, number>();
let read = 0;

async function pagesOf(folder: string | undefined): Promise<string[]> {
  if (folder === undefined) return makePages(30, 'judging').map(({ html }) => widened(html));
  const names = (await readdir(folder)).filter((name) => name.endsWith('.html'));
  return await Promise.all(names.sort().map((name) => readFile(join(folder, name), 'utf8')));
}

/** A page as long as those of the web, with scripts and more of its own text. */
function widened(html: string): string {
  const [head = '', body = ''] = html.split(/(?<=<body[^>]*>)/);
  const times = Math.max(1, Math.floor((PAGE_BYTES - SCRIPT.length) / html.length));
  return `${head}${SCRIPT}${body.repeat(times)}`;
}

const server = createServer((req, res) => {
  if (req.method === 'GET') {
    const at = Number(/\d+/.exec(req.url ?? '')?.[0] ?? 0);
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    res.end(pages[at % pages.length]);
    return;
  }
  let body = '';
  req.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  req.on('end', () => setTimeout(() => answer(body, res), ANSWER_MS));
});

function answer(body: string, res: ServerResponse): void {
  const run = /Question (\S+)\./.exec(body)?.[1] ?? '';
  const turn = turns.get(run) ?? 0;
  turns.set(run, turn + 1);
  const isResearch = /"tools":\[/.test(body) && turn < TURNS;
  const delta = isResearch
    ? { tool_calls: [{ index: 0, id: `call_${run}_${turn}`, type: 'function', function: callOf(turn) }] }
    : { content: 'The harbour was dredged in the spring.' };
  const chunk = (value: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench', choices: [{ index: 0, delta: value, finish_reason: finish }] })}\n\n`;
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.end(
    `${chunk({ role: 'assistant', ...delta }, null)}${chunk({}, isResearch ? 'tool_calls' : 'stop')}data: [DONE]\n\n`,
  );
}

function callOf(turn: number): { name: string; arguments: string } {
  if (turn % 4 === 3)
    return { name: 'web_search', arguments: JSON.stringify({ query: `the harbour and its ${turn} ferries` }) };
  return { name: 'fetch_url_content', arguments: JSON.stringify({ url: `${origin()}/page/${read++}` }) };
}

function origin(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

server.listen(0, '127.0.0.1', () => console.log(`${origin()}/v1`));
process.on('SIGTERM', () => process.exit(0));
