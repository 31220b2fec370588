import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A page with what is known of its main text. */
export interface TruePage {
  name: string;
  url: string;
  html(): Promise<Uint8Array>;
  truth: Truth;
}

/** The whole main text, or pieces that must and must not be in it. */
export type Truth =
  | { kind: 'text'; text: string }
  | { kind: 'pieces'; wanted: readonly string[]; unwanted: readonly string[] };

/** A set of pages in one of the formats that public sets have. */
export interface PageSet {
  name: string;
  pages: TruePage[];
}

/**
 * Reads the set in `folder`: a clone of scrapinghub/article-extraction-benchmark (`ground-truth.json`, `html/*.gz`), of
 * adbar/trafilatura (`tests/evaldata.json`, `tests/eval`, `tests/cache`) or of mozilla/readability (`test/test-pages`).
 * @throws Error if it is none of them.
 */
export async function readPageSet(folder: string): Promise<PageSet> {
  const names = new Set(await readdir(folder));
  if (names.has('ground-truth.json')) return await articles(folder);
  if (names.has('evaldata.json')) return await pieces(folder);
  if (names.has('tests')) return await readPageSet(join(folder, 'tests'));
  if (names.has('test-pages')) return await expected(join(folder, 'test-pages'));
  if (names.has('test')) return await readPageSet(join(folder, 'test'));
  throw new Error(`${basename(folder)} holds no ground-truth.json, evaldata.json or test-pages.`);
}

async function articles(folder: string): Promise<PageSet> {
  const known: Record<string, { articleBody: string; url: string }> = JSON.parse(
    await readFile(join(folder, 'ground-truth.json'), 'utf8'),
  );
  const pages = Object.entries(known).map(([name, { articleBody, url }]): TruePage => {
    const html = async () => gunzipSync(await readFile(join(folder, 'html', `${name}.html.gz`)));
    return { name, url, html, truth: { kind: 'text', text: articleBody } };
  });
  return { name: 'article-extraction-benchmark', pages };
}

async function pieces(folder: string): Promise<PageSet> {
  const known: Record<string, { file: string; with: string[]; without: string[] }> = JSON.parse(
    await readFile(join(folder, 'evaldata.json'), 'utf8'),
  );
  const cached = new Set(await readdir(join(folder, 'cache')));
  const pages = Object.entries(known).map(([url, { file, with: wanted, without: unwanted }]): TruePage => {
    const html = () => readFile(join(folder, cached.has(file) ? 'cache' : 'eval', file));
    return { name: file, url, html, truth: { kind: 'pieces', wanted, unwanted } };
  });
  return { name: 'trafilatura', pages };
}

async function expected(folder: string): Promise<PageSet> {
  const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const pages = names.map(async ({ name }): Promise<TruePage> => {
    const html = await readFile(join(folder, name, 'expected.html'), 'utf8');
    const text = html
      .replace(/<[^>]*>/g, ' ')
      .replaceAll('&amp;', '&')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>');
    const url = `https://example.org/${name}`;
    return { name, url, html: () => readFile(join(folder, name, 'source.html')), truth: { kind: 'text', text } };
  });
  return { name: 'readability', pages: await Promise.all(pages) };
}
