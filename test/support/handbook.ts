import type { JsonObject } from '../../src/base/json.ts';
import type { Tool, ToolOutput } from '../../src/tools/tool.ts';

/** A handbook of chapters, each of which contains one fact in much other text. */

export interface Handbook {
  chapters: number;
  /** The text of chapter n, counted from 1. */
  chapter(n: number): string;
  code(n: number): string;
  /** `fetch_url_content` and `web_search` over the handbook. */
  tools: Tool[];
}

export type Script = 'latin' | 'cjk';

const ANIMALS = ['ZEBRA', 'HERON', 'LYNX', 'OTTER', 'BISON', 'GECKO', 'RAVEN', 'TAPIR'];
const PLACES = ['Elmsworth', 'Vasa', 'Kiruna', 'Tarifa', 'Omsk', 'Lund', 'Ghent', 'Bergen', 'Split', 'Nara'];
const THINGS = ['harbour', 'archive', 'turbine', 'ferry', 'orchard', 'library', 'quarry', 'mill', 'bridge', 'market'];

/** Creates a handbook whose pages have about `length` characters. Deterministic. */
export function handbook(options: { chapters: number; length: number; script?: Script }): Handbook {
  const { chapters, length, script = 'latin' } = options;
  const code = (n: number) => `${ANIMALS[n % ANIMALS.length]}-${n}`;
  const chapter = (n: number) => chapterText({ n, length, script, code: code(n) });
  return { chapters, chapter, code, tools: [fetchTool(chapter), searchTool(code)] };
}

/** The codes in a text, by chapter. */
export function codesIn(text: string): Map<number, string> {
  const found = text.matchAll(/access code of chapter (\d+) is ([A-Z]+-\d+)|第(\d+)章的访问代码是([A-Z]+-\d+)/g);
  return new Map(found.map(([, n, code, m, other]) => [Number(n ?? m), code ?? other ?? '']));
}

/** A text with codes, which the model of these tests answers. */
export function telling(codes: ReadonlyMap<number, string>): string {
  if (codes.size === 0) return 'No code was found.';
  return [...codes].map(([n, code]) => `The access code of chapter ${n} is ${code} [1].`).join('\n');
}

function chapterText(of: { n: number; length: number; script: Script; code: string }): string {
  const random = seeded(of.n);
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? '';
  const number = (most: number) => Math.floor(random() * most);
  const filler =
    of.script === 'latin'
      ? () =>
          `The ${pick(THINGS)} of ${pick(PLACES)} was opened in ${1800 + number(220)} and holds ${number(9000)} things. `
      : () => `${1800 + number(220)}年，${pick(PLACES)}的图书馆开放，共有${number(9000)}件物品，每天都有很多人来参观。`;
  const fact =
    of.script === 'latin'
      ? `The access code of chapter ${of.n} is ${of.code}. `
      : `第${of.n}章的访问代码是${of.code}。`;
  const sentences: string[] = [];
  for (let total = 0; total < of.length; total += sentences.at(-1)?.length ?? 1) {
    sentences.push(filler() + (random() < 0.1 ? '\n\n' : ''));
  }
  sentences.splice(number(sentences.length + 1), 0, fact);
  return sentences.join('');
}

/** Pages come in parts of 24 000 characters, as those of the real tool do. */
const PART = 24_000;

function fetchTool(chapter: (n: number) => string): Tool {
  return tool('fetch_url_content', ({ url: asked, offset }): ToolOutput => {
    const url = String(asked);
    const n = Number(/chapter-(\d+)/.exec(url)?.[1]);
    const from = Number(offset ?? 0);
    const text = chapter(n);
    const truncated = from + PART < text.length;
    const page: JsonObject = { url, title: `Chapter ${n}`, content: text.slice(from, from + PART), truncated };
    if (truncated) page.next_offset = from + PART;
    if (truncated || from > 0) page.total_length = text.length;
    return {
      result: (sourceId) => ({ ...page, source_id: sourceId(url) }),
      sources: [{ url, title: `Chapter ${n}`, snippet: text.slice(0, 200), kind: 'read' }],
    };
  });
}

function searchTool(code: (n: number) => string): Tool {
  return tool('web_search', ({ queries }) => {
    const n = Number(/\d+/.exec(JSON.stringify(queries))?.[0]);
    const hits = [0, 1, 2, 3, 4, 5].map((i) => ({
      title: `Chapter ${n}, note ${i}`,
      url: `https://handbook.example/chapter-${n}/note-${i}`,
      snippet:
        i === 4
          ? `In note ${i} it says: The access code of chapter ${n} is ${code(n)}. Keep it.`
          : `The ${THINGS[(n + i) % THINGS.length]} of ${PLACES[i]} was opened in ${1800 + i} and holds ${n * 7} things.`,
    }));
    return {
      result: (sourceId) => ({ results: hits.map((hit) => ({ ...hit, source_id: sourceId(hit.url) })) }),
      sources: hits.map((hit) => ({ ...hit, kind: 'listed' as const })),
    };
  });
}

function tool(name: string, call: (args: JsonObject) => ToolOutput): Tool {
  const parameters: JsonObject = { type: 'object' };
  return { name, description: `The ${name} tool.`, parameters, timeoutMs: 10_000, call: async (args) => call(args) };
}

function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
