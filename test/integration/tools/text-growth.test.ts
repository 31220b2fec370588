import assert from 'node:assert/strict';
import { describeContent } from '../../../src/tools/fetch-url-content/content-kind.ts';
import { partOf } from '../../../src/tools/fetch-url-content/paging.ts';
import { linksIn } from '../../../src/tools/fetch-url-content/part-links.ts';
import { findPassages, relevantPassages } from '../../../src/tools/fetch-url-content/passages.ts';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { joinLatex } from '../../../src/tools/fetch-url-content/reading/math/mathml.ts';
import { numberPageLinks } from '../../../src/tools/fetch-url-content/reading/reference-links.ts';
import { breakControlTokens } from '../../../src/tools/text/control-tokens.ts';
import { firstHeading, markdownHeading } from '../../../src/tools/text/markdown-heading.ts';
import { stripMarkup } from '../../../src/tools/text/strip-markup.ts';
import { trimLines } from '../../../src/tools/text/trim-lines.ts';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { Compounds } from '../../../src/tools/web-search/local/compounds.ts';
import { detectLanguage, LANGUAGES, Stems } from '../../../src/tools/web-search/local/languages.ts';
import { bestPassage } from '../../../src/tools/web-search/local/passage.ts';
import { indexText, queryTerms } from '../../../src/tools/web-search/local/terms.ts';
import { fairOwnMs, growsTooFast, ownMs, preciseMs } from '../../support/fair-time.ts';

/** Pieces that are repeated to make hostile texts, which regular expressions with repetitions may be slow on. */
const PIECES = [
  ' ',
  '\t',
  '\n',
  '#',
  ' #',
  '[',
  '![',
  '](',
  '[a](',
  '](https://a(',
  '](<https:',
  '<',
  '<a',
  '</',
  '&',
  '&#',
  "'",
  '"',
  '`',
  '-',
  '.',
  'a',
  'a.',
  '研',
  '\r\n',
  '|',
  '://',
  '(',
  '**',
  '=',
  '=> ',
  '<|',
  '<｜a',
  '<invoke name=',
  '\u00a0',
  '\u3000',
  '\ud83d',
];
const FRAMES: readonly [before: string, after: string][] = [
  ['', ''],
  ['# a', 'b'],
  ['a', 'b'],
  ['---\ntitle: a', 'b\n---\n'],
  ['<p>', '</p>'],
];

const LENGTH = 32_000;
/** A read below this many milliseconds never counts as slow. */
const FAST_MS = 12;

const READERS: readonly [name: string, read: (text: string) => unknown][] = [
  ['markdownHeading', markdownHeading],
  ['firstHeading', (text) => firstHeading(text, text.length)],
  ['trimLines', trimLines],
  ['stripMarkup', stripMarkup],
  ['breakControlTokens', breakControlTokens],
  ['chunkDocument of Markdown', (text) => chunkDocument(text, { contentType: 'text/markdown', name: 'a.md' })],
  ['chunkDocument of HTML', (text) => chunkDocument(text, { contentType: 'text/html', name: 'a.html' })],
  ['bestPassage', (text) => bestPassage(text, ['word', 'a'])],
  ['indexText', (text) => indexText(text, { language: 'de', stems: new Stems() })],
  [
    'queryTerms',
    (text) => queryTerms(text, { languages: LANGUAGES, stems: new Stems(), compounds: new Compounds(new Stems()) }),
  ],
  ['detectLanguage', detectLanguage],
  ['partOf', (text) => partOf(text, 0, Math.floor(text.length * 0.9))],
  ['relevantPassages', (text) => relevantPassages(text, 'word aaaa other', { from: 0, to: 0 })],
  ['findPassages', (text) => findPassages(text, `${text.slice(0, 40)} word`)],
  ['numberPageLinks', numberPageLinks],
  ['linksIn', (text) => linksIn(text, ['https://example.org/'], 1000)],
  ['content types', (text) => attempt(() => describeContent(new Uint8Array(), `application/${text}`))],
];

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return undefined;
  }
}

describe('hostile texts', () => {
  for (const [name, read] of READERS) {
    it(`are read by ${name} in linear time`, () => {
      for (const [before, after] of FRAMES) {
        for (const piece of PIECES) {
          const make = (length: number) => before + piece.repeat(Math.ceil(length / piece.length)) + after;
          const whole = make(LENGTH);
          if (ownMs(() => read(whole)) < FAST_MS || fairOwnMs(preciseMs(() => read(whole))) < FAST_MS) continue;
          const grows = growsTooFast((share) => {
            const text = make(LENGTH * share);
            return () => read(text);
          });
          assert.ok(!grows, JSON.stringify(before + piece));
        }
      }
    });
  }

  it('are joined as LaTeX in linear time', () => {
    assert.ok(
      !growsTooFast((share) => {
        const signs = Array.from({ length: 30_000 * share }, () => '\\hat{x}');
        return () => joinLatex(signs);
      }),
    );
  });

  /** Pages of `count` pieces whose rules look at their surroundings. */
  const PAGES: readonly [name: string, page: (count: number) => string][] = [
    [
      'a list of chapters that ends with a link to another page',
      (count) => `<ul>${'<li><a href="#a">chapter of it</a></li>'.repeat(count)}<li><a href="/x">away</a></li></ul>`,
    ],
    ['deeply nested elements', (count) => `${'<div>a, b'.repeat(count / 10)}${'</div>'.repeat(count / 10)}`],
  ];
  for (const [name, page] of PAGES) {
    it(`are read as a page with ${name} in linear time`, () => {
      const make = (share: number) => `<main><h1>T</h1><p>Some words, of a text.</p>${page(4000 * share)}</main>`;
      assert.ok(
        !growsTooFast((share) => {
          const text = make(share);
          return () => readHtml(text, 'https://example.org/');
        }),
      );
    });
  }
});
