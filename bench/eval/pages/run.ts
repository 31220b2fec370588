import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { EXTRACTORS } from './extractors.ts';
import { MADE_PAGES, missedOf, tableOfMadePages } from './made-pages.ts';
import { type PageScore, type SetScore, scorePage, scoreSet } from './page-scores.ts';
import { type PageSet, readPageSet } from './page-sets.ts';

/** `npm run eval:pages -- <folder>...`: see docs/evaluation.md. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    every: { type: 'string', default: '1' },
    worst: { type: 'string', default: '0' },
    'min-f1': { type: 'string', default: '0' },
    save: { type: 'string' },
    half: { type: 'string', default: 'judging' },
    count: { type: 'string', default: String(MADE_PAGES) },
    layouts: { type: 'boolean', default: false },
    missed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run eval:pages -- [options] [FOLDER...]

Without a folder, pages are made whose whole structure is known: recall of each part, and the share of clutter left.

  --half NAME     judging (default), or tuning: the pages to look at while a reader is changed
  --count N       only the first N pages of the half
  --layouts       a line for each layout too
  --missed PART   instead, what research-gateway missed of a part ("code lines"), or left of "clutter", page by page
  --only NAME     one reader: research-gateway, readability + turndown, defuddle

Each folder is a clone of scrapinghub/article-extraction-benchmark, adbar/trafilatura or mozilla/readability.

  --only NAME     one extractor: ${EXTRACTORS.map(({ name }) => name).join(', ')}
  --every N       only every Nth page
  --worst N       also the N pages on which research-gateway does worst
  --min-f1 X      end with status 1 if research-gateway is below X on any set
  --save FILE     write every page's score as JSON
`;

if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (positionals.length === 0) {
  const half = values.half === 'tuning' ? 'tuning' : 'judging';
  const options = { half, count: Number(values.count), byLayout: values.layouts, only: values.only } as const;
  const { missed } = values;
  process.stdout.write(missed === undefined ? await tableOfMadePages(options) : await missedOf(missed, options));
}
const extractors = EXTRACTORS.filter(({ name }) => values.only === undefined || values.only === name);
const saved: Record<string, Record<string, PageScore>> = {};
let isBelow = false;
for (const folder of positionals) {
  const set = await readPageSet(folder);
  set.pages = set.pages.filter((_, at) => at % Number(values.every) === 0);
  process.stdout.write(`\n${set.name}: ${set.pages.length} pages\n`);
  for (const extractor of extractors) {
    const { score, pages, seconds, failures } = await measure(set, extractor);
    process.stdout.write(
      `${line(extractor.name, score)}  ${seconds.toFixed(1)} s${failures > 0 ? `  ${failures} failed` : ''}\n`,
    );
    if (extractor.name !== 'research-gateway') continue;
    saved[set.name] = pages;
    isBelow ||= score.f1 < Number(values['min-f1']);
    for (const [name, page] of worst(pages, Number(values.worst))) {
      process.stdout.write(
        `    ${name}  right ${page.right.toFixed(2)} extra ${page.extra.toFixed(2)} missing ${page.missing.toFixed(2)}\n`,
      );
    }
  }
}
if (values.save) await writeFile(values.save, JSON.stringify(saved, null, 1));
process.exit(isBelow ? 1 : 0);

async function measure(set: PageSet, { extract }: (typeof EXTRACTORS)[number]) {
  const scores: PageScore[] = [];
  const pages: Record<string, PageScore> = {};
  let ms = 0;
  let failures = 0;
  for (const { name, url, html, truth } of set.pages) {
    const bytes = await html();
    const started = performance.now();
    const text = await extract(bytes, url).catch(() => {
      failures += 1;
      return '';
    });
    ms += performance.now() - started;
    const score = scorePage(truth, text);
    scores.push(score);
    pages[name] = score;
  }
  const truths = set.pages.map(({ truth }) => truth);
  return { score: scoreSet(truths, scores), pages, seconds: ms / 1000, failures };
}

function worst(pages: Record<string, PageScore>, count: number): [string, PageScore][] {
  const loss = ({ extra, missing }: PageScore) => extra + missing;
  return Object.entries(pages)
    .sort(([, a], [, b]) => loss(b) - loss(a))
    .slice(0, count);
}

function line(name: string, { f1, precision, recall }: SetScore): string {
  const shown = (value: number) => value.toFixed(3);
  return `  ${name.padEnd(18)} F1 ${shown(f1)}  precision ${shown(precision)}  recall ${shown(recall)}`;
}
