import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Question sets as their authors publish them. An operator brings the file; none of it is in this repository. */

/** What a dimension of a report is judged by, with weights. */
export interface Criterion {
  criterion: string;
  explanation: string;
  weight: number;
}

export interface BenchmarkQuestion {
  id: string;
  text: string;
  /** The right answer; undefined where a report is judged. */
  answer?: string;
  /** DeepResearch Bench: what a report is judged by, and the report that it is held against. */
  race?: { reference: string; weights: Record<string, number>; criteria: Record<string, Criterion[]> };
}

export const BENCHMARKS = ['simpleqa', 'browsecomp', 'xbench', 'deepresearch', 'jsonl'] as const;
export type Benchmark = (typeof BENCHMARKS)[number];

/**
 * The questions of a file. DeepResearch Bench: the folder that holds `query.jsonl`, `criteria.jsonl` and
 * `reference.jsonl`.
 * @throws Error that names what is missing.
 */
export async function readQuestions(benchmark: Benchmark, path: string): Promise<BenchmarkQuestion[]> {
  if (benchmark === 'deepresearch') return readDeepResearch(path);
  const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  if (benchmark === 'jsonl') {
    return rowsOf(text).map((row, at) => ({
      id: String(row.id ?? at + 1),
      text: field(row, ['question', 'prompt', 'problem'], at),
      answer: field(row, ['answer'], at),
    }));
  }
  return csvOf(text).map((row, at) => {
    const problem = field(row, benchmark === 'xbench' ? ['prompt'] : ['problem'], at);
    const answer = field(row, ['answer'], at);
    const id = String(row.id || at + 1);
    if (benchmark === 'simpleqa') return { id, text: problem, answer };
    const canary = field(row, ['canary'], at);
    // Their authors encrypt them so that no crawler reads them: BrowseComp with a hash of its canary, xbench with it.
    const key = benchmark === 'browsecomp' ? createHash('sha256').update(canary).digest() : Buffer.from(canary);
    return { id, text: decrypted(problem, key), answer: decrypted(answer, key) };
  });
}

async function readDeepResearch(folder: string): Promise<BenchmarkQuestion[]> {
  const rows = async (name: string) => rowsOf(await readFile(`${folder}/${name}`, 'utf8'));
  const [queries, criteria, references] = await Promise.all(
    ['query.jsonl', 'criteria.jsonl', 'reference.jsonl'].map(rows),
  );
  const byId = (all: Row[] | undefined, id: unknown) => all?.find((row) => String(row.id) === String(id));
  return (queries ?? []).map((row, at) => {
    const own = byId(criteria, row.id);
    const reference = byId(references, row.id);
    if (!own || !reference) throw new Error(`question ${row.id}: criteria.jsonl or reference.jsonl lacks it`);
    return {
      id: String(row.id),
      text: field(row, ['prompt'], at),
      race: {
        reference: field(reference, ['article'], at),
        weights: weightsOf(own.dimension_weight),
        criteria: criteriaOf(own.criterions),
      },
    };
  });
}

type Row = Record<string, unknown>;

function field(row: Row, names: readonly string[], at: number): string {
  const value = names.map((name) => row[name]).find((each) => typeof each === 'string' && each !== '');
  if (typeof value !== 'string') throw new Error(`row ${at + 1} has no ${names.join(', no ')}`);
  return value;
}

function weightsOf(value: unknown): Record<string, number> {
  return Object.fromEntries(Object.entries({ ...Object(value) }).map(([name, weight]) => [name, Number(weight)]));
}

function criteriaOf(value: unknown): Record<string, Criterion[]> {
  const lists = Object.entries({ ...Object(value) });
  return Object.fromEntries(
    lists.map(([name, list]) => [
      name,
      (Array.isArray(list) ? list : []).map((each: Row) => ({
        criterion: String(each.criterion),
        explanation: String(each.explanation ?? ''),
        weight: Number(each.weight),
      })),
    ]),
  );
}

function decrypted(base64: string, key: Buffer): string {
  const bytes = Buffer.from(base64, 'base64');
  return Buffer.from(bytes.map((byte, at) => byte ^ (key[at % key.length] ?? 0))).toString('utf8');
}

function rowsOf(jsonl: string): Row[] {
  return jsonl
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ ...Object(JSON.parse(line)) }));
}

/** The rows of a CSV text by the names of its head; fields in quotes may hold lines, commas and doubled quotes. */
function csvOf(text: string): Row[] {
  const rows: string[][] = [[]];
  for (const { groups } of text.matchAll(/(?:"(?<quoted>(?:[^"]|"")*)"|(?<plain>[^",\r\n]*))(?<end>,|\r?\n|$)/g)) {
    rows.at(-1)?.push(groups?.quoted?.replaceAll('""', '"') ?? groups?.plain ?? '');
    if (groups?.end !== ',') rows.push([]);
  }
  const [head = [], ...body] = rows.filter((row) => row.some((value) => value !== ''));
  return body.map((row) => Object.fromEntries(head.map((name, at) => [name.trim(), row[at] ?? ''])));
}
