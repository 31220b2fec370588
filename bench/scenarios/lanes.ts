import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handbook } from '../../test/support/handbook.ts';
import { partsOf, planOf, turnsIn } from '../../test/support/lane-model.ts';
import {
  mayCallTools,
  type ProviderRequest,
  type Script,
  startScriptedProvider,
  turn,
} from '../../test/support/scripted-provider.ts';
import { commonStart } from '../eval/meter.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, startGateway } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';

const LANES = 8;
/** Pages that each part of the plan is looked up in, one a turn. */
const LOOKUPS = 5;
const ANSWER_MS = 300;
/** UTF-16 code units of a token. */
const CHARACTERS = 4;

interface Figures {
  seconds: number;
  /** Tokens that stand behind the longest beginning which an earlier request had, too. */
  anew: number;
}

/** A plan of eight parts, researched in eight lanes beside one, with a provider that takes 0.3 s a turn. */
export async function lanes({ rounds }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'lanes-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const book = handbook({ chapters: LANES * LOOKUPS, length: 5000 });
  for (let n = 0; n < book.chapters; n++) await writeFile(join(folder, `${n}.md`), book.chapter(n));
  const sent: string[] = [];
  const respond = (request: ProviderRequest): Script => {
    sent.push(JSON.stringify(request.body.messages ?? []));
    return { ...research(request), headersAfter: ANSWER_MS };
  };
  const provider = stack.use(await startScriptedProvider({ respond }));
  const config = {
    providers: { bench: { base_url: provider.url } },
    tools: { web_search: { provider: 'local', folder } },
    models: { bench: { kind: 'research', routes: [{ provider: 'bench', model: 'bench' }] } },
  };
  const gateway = stack.use(await startGateway(config));
  const measure = async (count: number): Promise<Figures> => {
    sent.length = 0;
    const began = performance.now();
    await ask(gateway.url, count);
    return { seconds: (performance.now() - began) / 1000, anew: readAnew(sent) };
  };
  const results = await interleaved(
    [
      { name: 'one', run: () => measure(1) },
      { name: 'ours', run: () => measure(LANES) },
    ],
    rounds,
  );
  const of = (figure: keyof Figures) => ({
    ours: (results.get('ours') ?? []).map((round) => round[figure]),
    peer: { name: 'one lane', rounds: (results.get('one') ?? []).map((round) => round[figure]) },
  });
  const what = `research in ${LANES} lanes`;
  return [
    { what, unit: 's', ...of('seconds'), goal: { atMost: 1 / 4 } },
    { what, unit: 'tokens read anew', ...of('anew'), goal: { atMost: 1.3 } },
  ];
}

async function ask(url: string, count: number): Promise<void> {
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'bench',
      input: 'What does the handbook say?',
      reasoning: { effort: 'high' },
      research: { lanes: count, report: 'short', verify: false },
      stream: false,
    }),
  });
  const { status, usage } = JSON.parse(await answer.text());
  if (status !== 'completed' || usage.num_tool_calls !== LANES * LOOKUPS) {
    throw new Error(`${status} after ${usage?.num_tool_calls} calls`);
  }
}

/** Plans eight parts and reads each page of them: all of its own in a lane, all of all in one context. */
function research(request: ProviderRequest): Script {
  const messages = request.body.messages ?? [];
  const parts = Array.from({ length: LANES }, (_, part) => `part ${part}`);
  if (!mayCallTools(request)) return turn({ text: 'The handbook says it [1].' });
  const own = partsOf({ messages });
  const text = JSON.stringify(messages);
  // Behind the lanes there is no turn of its own in the context either: it plans once.
  if (/were researched at the same time/.test(text)) return turn({ text: 'I am ready.' });
  if (!own && turnsIn({ messages }) === 0) return turn({ toolCalls: [planOf(parts)] });
  const pages = (own ?? parts).flatMap((part) => pagesOf(Number(part.slice('part '.length))));
  const next = pages.find((page) => !text.includes(`corpus:///${page}.md`));
  if (next === undefined) return turn({ text: 'I am ready.' });
  const call = { name: 'fetch_url_content', arguments: { url: `corpus:///${next}.md` } };
  return turn({ reasoning: `I read page ${next}.`, toolCalls: [call] });
}

function pagesOf(part: number): number[] {
  return Array.from({ length: LOOKUPS }, (_, page) => part * LOOKUPS + page);
}

/** As a provider bills that keeps the beginnings of all requests before. */
function readAnew(sent: readonly string[]): number {
  return sent.reduce((sum, text, index) => {
    const shared = Math.max(0, ...sent.slice(0, index).map((before) => commonStart(before, text)));
    return sum + (text.length - shared) / CHARACTERS;
  }, 0);
}
