import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chunkDocument } from '../../src/tools/web-search/local/chunks.ts';
import { DocumentIndex } from '../../src/tools/web-search/local/document-index.ts';

/**
 * `npm run eval:search -- <folder> [--min-ndcg 0.4]`: the local search, by words alone, over the Cranfield collection:
 * 1 400 abstracts with 225 queries and what is relevant to each. The folder holds `cran.all.1400`, `cran.qry` and
 * `cranqrel`.
 */

/** How many documents of an answer count. */
const DEPTH = 10;

interface Entry {
  title: string;
  text: string;
}

/** The entries of a file in SMART's format: `.I` begins one, `.T` its title, `.W` its text. */
function entriesOf(path: string): Entry[] {
  const blocks = readFileSync(path, 'utf8').split(/^\.I /m).slice(1);
  return blocks.map((block) => {
    const fields = new Map(
      [...block.matchAll(/^\.([A-Z])\s*\n([\s\S]*?)(?=^\.[A-Z]\s*\n|(?![\s\S]))/gm)].map(
        ([, name = '', value = '']) => [name, value],
      ),
    );
    const plain = (name: string) => (fields.get(name) ?? '').replace(/\s+/g, ' ').trim();
    return { title: plain('T'), text: plain('W') };
  });
}

/**
 * The relevant documents of each query, by the numbers of both: judgements of 1 to 4, each counting alike. One of -1 (5 in
 * some copies) says that a document is of no interest.
 */
function judgements(path: string): Map<number, Set<number>> {
  const relevant = new Map<number, Set<number>>();
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const [query = 0, document = 0, code = 0] = line.trim().split(/\s+/).map(Number);
    const known = relevant.get(query) ?? new Set();
    if (code >= 1 && code <= 4) known.add(document);
    relevant.set(query, known);
  }
  return relevant;
}

/** Normalised discounted cumulative gain: 1 where the relevant documents come first. */
function ndcg(found: readonly number[], relevant: ReadonlySet<number>): number {
  const gain = (at: number) => 1 / Math.log2(at + 2);
  const reached = found.reduce((sum, document, at) => sum + (relevant.has(document) ? gain(at) : 0), 0);
  let best = 0;
  for (let at = 0; at < Math.min(DEPTH, relevant.size); at++) best += gain(at);
  return reached / best;
}

const { values, positionals } = parseArgs({
  options: { 'min-ndcg': { type: 'string', default: '0' } },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined) {
  console.error('Name the folder with cran.all.1400, cran.qry and cranqrel: npm run eval:search -- <folder>');
  process.exit(2);
}
using index = new DocumentIndex();
const put = entriesOf(join(folder, 'cran.all.1400')).map(({ title, text }, at) => {
  const file = { path: `${at + 1}.md`, signature: '' };
  return {
    file,
    document: chunkDocument(`# ${title}\n\n${text}\n`, { contentType: 'text/markdown', name: file.path }),
  };
});
await index.putInSlices(...put);
const relevant = judgements(join(folder, 'cranqrel'));
const scores = entriesOf(join(folder, 'cran.qry')).flatMap(({ text }, at) => {
  // Queries are judged by their place in the file, not by the number that they have there.
  const wanted = relevant.get(at + 1);
  if (!wanted?.size) return [];
  return ndcg(
    index.search(text, DEPTH).map(({ path }) => Number.parseInt(path, 10)),
    wanted,
  );
});
const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
console.log(`${put.length} documents, ${scores.length} queries: nDCG@${DEPTH} ${mean.toFixed(3)}`);
if (mean < Number(values['min-ndcg'])) process.exitCode = 1;
