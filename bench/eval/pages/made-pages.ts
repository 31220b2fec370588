import { type Half, makePages } from './made/all-layouts.ts';
import type { MadePage } from './made/layout.ts';
import { PARTS, type StructureScore, scoreStructure, sumScores } from './structure.ts';
import { STRUCTURED_READERS, type StructuredReader } from './structured-readers.ts';

/** How many pages there are in a half. */
export const MADE_PAGES = 150;

export interface MadeOptions {
  half: Half;
  count: number;
  /** A line for each layout too. */
  byLayout: boolean;
  /** The name of one reader. */
  only?: string | undefined;
}

/** What every reader finds on pages that are made for it, one table. */
export async function tableOfMadePages({ half, count, byLayout, only }: MadeOptions): Promise<string> {
  const pages = makePages(count, half);
  const lines = [header(`${half}, ${pages.length} pages`)];
  for (const reader of STRUCTURED_READERS.filter(({ name }) => only === undefined || name === only)) {
    const started = process.cpuUsage();
    const scores = await scorePages(reader, pages);
    const { user, system } = process.cpuUsage(started);
    const ms = (user + system) / 1000 / pages.length;
    lines.push(line(reader.name, sumScores(scores), `${ms.toFixed(1)} ms`));
    if (!byLayout) continue;
    for (const layout of new Set(pages.map((page) => page.layout))) {
      lines.push(line(`  ${layout}`, sumScores(scores.filter((_, at) => pages[at]?.layout === layout)), ''));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** A page that a reader cannot read is an empty one. */
export async function scorePages(reader: StructuredReader, pages: readonly MadePage[]): Promise<StructureScore[]> {
  const scores: StructureScore[] = [];
  for (const { html, url, truth } of pages) {
    const page = await reader.read(html, url).catch(() => ({ markdown: '', dates: [], authors: '' }));
    scores.push(scoreStructure(truth, page, url));
  }
  return scores;
}

/** What research-gateway missed of one part (what it left, of `clutter`), page by page. */
export async function missedOf(part: string, { half, count }: Pick<MadeOptions, 'half' | 'count'>): Promise<string> {
  const [reader] = STRUCTURED_READERS;
  const named = PARTS.find((name) => name === part);
  if (!reader || !named) throw new RangeError(`--missed is one of ${PARTS.join(', ')}.`);
  const pages = makePages(count, half);
  const scores = await scorePages(reader, pages);
  return scores.flatMap((score, at) => score[named].missed.map((piece) => `${pages[at]?.name}: ${piece}\n`)).join('');
}

function share({ found, of }: { found: number; of: number }): number {
  return of === 0 ? Number.NaN : found / of;
}

function header(title: string): string {
  const cells = [title, ...PARTS, 'CPU a page'];
  return `| ${cells.join(' | ')} |\n| --- | ${cells
    .slice(1)
    .map(() => '---:')
    .join(' | ')} |`;
}

function line(name: string, score: StructureScore, cost: string): string {
  const shown = PARTS.map((part) => (score[part].of === 0 ? '' : `${(share(score[part]) * 100).toFixed(1)} %`));
  return `| ${[name, ...shown, cost].join(' | ')} |`;
}
