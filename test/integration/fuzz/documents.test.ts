import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describeContent } from '../../../src/tools/fetch-url-content/content-kind.ts';
import {
  CONTENT_KINDS,
  type ContentKind,
  isOffice,
  MAX_CONTENT,
} from '../../../src/tools/fetch-url-content/parsing/parse-job.ts';
import { type HtmlElement, parseHtml } from '../../../src/tools/fetch-url-content/reading/html/tree.ts';
import { DocumentReader } from '../../support/document-reader.ts';
import { isSlow } from '../../support/fair-time.ts';
import { type Boundary, fuzz, hostileText, RUNS, SEED } from '../../support/fuzz.ts';
import { pdfOf } from '../../support/pdf-file.ts';
import { patience } from '../../support/time-limit.ts';

/**
 * How long the thread may work on a document of up to 64 KB, in milliseconds. A hang ends at `LIMITS`.
 */
const MAX_MS = 2500;
/** Where a hanging reader is ended, even on the busiest machine. */
const LIMITS = { heapMb: 256, wallMs: 200_000 };
/** How deeply the elements of a page may be nested. */
const MAX_DEPTH = 400;

const MARKUP = [
  ...[
    '<div>',
    '</div>',
    '<p>',
    '</p>',
    '<b>',
    '<a href="x">',
    '</a>',
    '<table>',
    '<tr>',
    '<td colspan=9999>',
    '</table>',
  ],
  ...[
    '<ul><li>',
    '</ul>',
    '<pre><code>',
    '</code></pre>',
    '<math>',
    '<mrow>',
    '<mfrac>',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
  ],
  ...[
    '<script>',
    '</script>',
    '<style>',
    '<svg>',
    '<template>',
    '<select><option>',
    '<h1>',
    '</h1>',
    '<br>',
    '<img src=x alt="',
  ],
  ...[
    '&amp;',
    '&#x110000;',
    '&nbsp',
    '&',
    '<',
    '>',
    '"',
    '=',
    '/',
    ' class="nav',
    ' hidden',
    ' style="display:none"',
    'words, and ',
  ],
  ...[
    '<article>',
    '<main>',
    '</article>',
    '<blockquote>',
    '<details>',
    '<iframe>',
    '<noscript>',
    '<base href="//x">',
    '<title>',
  ],
];
const FEED = [
  ...[
    '<?xml version="1.0"?>',
    '<!DOCTYPE a [',
    '<!ENTITY b "c">',
    ']>',
    '&b;',
    '<rss>',
    '<channel>',
    '<item>',
    '</item>',
  ],
  ...[
    '<feed>',
    '<entry>',
    '<title type="html">',
    '</title>',
    '<link href="',
    '<content:encoded>',
    '<![CDATA[',
    ']]>',
    '<pubDate>',
  ],
  ...['&lt;b&gt;', 'xmlns:a="', '"', '>', '<', '/', ' '],
];
const PDF_WORDS = [
  ...[
    '1 0 obj',
    'endobj',
    '<<',
    '>>',
    '/Type',
    '/Page',
    '/Kids [2 0 R]',
    '/Parent 2 0 R',
    '/Count 99999',
    'stream\n',
    'endstream',
  ],
  ...[
    '/Length 0',
    'xref',
    'trailer',
    'startxref',
    '%%EOF',
    '/Filter /FlateDecode',
    '(',
    ')',
    '[',
    ']',
    'BT',
    'ET',
    'Tj',
    '/F1 9 Tf',
  ],
];
const MARKDOWN = [
  ...[
    '# ',
    '## ',
    '- ',
    '* ',
    '1. ',
    '> ',
    '```',
    '~~~',
    '---\n',
    '|',
    ':--',
    '[',
    ']',
    '(',
    ')',
    '![',
    '`',
    '**',
    '_',
    '\\',
  ],
  ...[
    'title: ',
    'date: 2024-01-01\n',
    '&x ',
    '*x ',
    '<div>',
    'https://',
    '\n\n',
    '    ',
    '$$',
    '\\(',
    '[^1]',
    '[x]: y\n',
  ],
];
const pdf = Buffer.from(
  pdfOf([
    { dictionary: '<< /Type /Catalog /Pages 2 0 R >>' },
    { dictionary: '<< /Type /Pages /Kids [4 0 R] /Count 1 >>' },
    { dictionary: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>' },
    {
      dictionary:
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>',
    },
    { dictionary: '<< >>', stream: Buffer.from('BT /F1 9 Tf 10 10 Td (The tide) Tj ET') },
  ]),
);
const page =
  '<!doctype html><html><head><title>Tides</title><meta name="author" content="A"></head><body><nav><a href="/">Home</a></nav><article><h1>Tides</h1><p>The sea rises, and it falls, twice a day.</p><table><tr><th>Hour</th><td>6</td></tr></table></article></body></html>';
const feed =
  '<?xml version="1.0"?><rss><channel><title>News</title><item><title>A</title><link>https://a.example</link><description>&lt;p&gt;B&lt;/p&gt;</description></item></channel></rss>';

const DOCUMENTS = new URL('../../fixtures/documents/', import.meta.url);
const office = (kind: string) =>
  readdirSync(DOCUMENTS)
    .filter((name) => name.endsWith(kind === 'odf' ? '.odt' : `.${kind}`))
    .map((name) => readFileSync(new URL(name, DOCUMENTS)));

type Grammar = Pick<Boundary, 'samples' | 'pieces'>;
const ZIP = ['PK\x03\x04', 'PK\x01\x02', 'PK\x05\x06', '\0\0', '\xff\xff', 'word/document.xml', '<w:p>', 'mimetype'];
const GRAMMARS: Record<ContentKind, Grammar> = {
  html: { samples: [page], pieces: MARKUP },
  markdown: { samples: ['---\ntitle: A\n---\n# A\n\n- b\n\n| a | b |\n| - | - |\n| 1 | 2 |\n'], pieces: MARKDOWN },
  text: { samples: ['The tide rises.\n\nAnd it falls.'], pieces: ['a', ' ', '\n', '\t', '.', '\x1b[0m', '\u2028'] },
  json: {
    samples: ['{"a": [1, {"b": null}]}', '{"a":1}\n{"a":2}\n'],
    pieces: ['{', '}', '[', ']', '"', ':', ',', '1', '\n', '\\u', 'e9'],
  },
  csv: { samples: ['a,b\n"1, 2","3 ""4"""\n'], pieces: [',', ';', '\t', '"', '""', '\n', '\r\n', 'a', '|', '1'] },
  xml: { samples: [feed], pieces: FEED },
  pdf: { samples: [pdf], pieces: PDF_WORDS },
  docx: { samples: office('docx'), pieces: ZIP },
  pptx: { samples: office('pptx'), pieces: ZIP },
  xlsx: { samples: office('xlsx'), pieces: ZIP },
  odf: { samples: office('odf'), pieces: ZIP },
  epub: { samples: office('epub'), pieces: ZIP },
  rtf: {
    samples: office('rtf'),
    pieces: [
      '{',
      '}',
      '\\rtf1',
      '\\par',
      "\\'e9",
      '\\u233?',
      '\\bin99999 ',
      '\\*',
      '\\',
      ';',
      'a',
      '\\trowd',
      '\\cell',
    ],
  },
};
/** Fewer runs for zipped kinds, which mostly cannot be opened once changed, and whose parts are read like the others. */
const shareOf = (kind: ContentKind) => (isOffice(kind) ? 0.2 : kind === 'pdf' ? 0.3 : 0.5);

describe('fuzzed documents', () => {
  const reader = new DocumentReader();
  after(() => reader[Symbol.asyncDispose]());

  for (const kind of CONTENT_KINDS) {
    it(`${kind} is read within its time and memory limits`, async () => {
      const documents = fc.sample(hostileText(GRAMMARS[kind]), {
        numRuns: Math.ceil(RUNS * shareOf(kind)),
        seed: SEED,
      });
      for (const bytes of documents) {
        const job = { kind, bytes, charset: undefined, url: 'https://example.org/a', softLimitMs: 2500 };
        const shown = `FUZZ_SEED=${SEED}: ${JSON.stringify(bytes.toString('latin1').slice(0, 600))} (${bytes.length} bytes)`;
        const cost = () => reader.read(job, LIMITS).catch((error: unknown) => assert.fail(`${error}: ${shown}`));
        let { ms, length } = await cost();
        // The first run compiles, and collects garbage of earlier ones.
        for (let again = 0; again < 2 && isSlow(ms, MAX_MS); again++) ({ ms, length } = await cost());
        assert.ok(!isSlow(ms, MAX_MS), `${Math.round(ms)} ms: ${shown}`);
        assert.ok(length <= MAX_CONTENT, `${length} characters: ${shown}`);
      }
    }).timeout(patience(60 + RUNS));
  }

  it('no page becomes a tree deeper than its limit', () =>
    fuzz({
      name: 'depth',
      ...GRAMMARS.html,
      pieces: [
        ...MARKUP,
        '<li>',
        '<td>',
        '<div/>',
        '<mi>',
        '<mspace/>',
        '</math>',
        '<dd>',
        '</tr>',
        '</li>',
        '<tr><td>',
        '<i a=">',
        '"',
        "'",
        ' = ',
        '</div~>',
        '<b~>',
        '</b',
      ],
      maxMs: 1000,
      read(bytes) {
        const page = parseHtml(bytes.subarray(0, 8000).toString());
        if (page) assert.ok(depthOf(page.body) <= MAX_DEPTH + 1);
      },
      allows: (error) => error instanceof RangeError,
    })).timeout(patience(60 + RUNS));

  it('describeContent finds a known kind for any content type and bytes', () =>
    fuzz({
      name: 'content types',
      samples: ['text/html; charset=utf-8', 'application/pdf', 'application/vnd.oasis.opendocument.text'],
      pieces: [
        'text/',
        'html',
        'application/',
        'xml',
        '+json',
        ';',
        'charset=',
        '"',
        '%PDF-',
        'PK\x03\x04',
        '<?xml',
        '<html',
        '{\\rtf',
        '\n',
      ],
      read(bytes) {
        const text = bytes.toString('latin1');
        assert.ok(CONTENT_KINDS.includes(describeContent(bytes, text).kind));
        assert.ok(CONTENT_KINDS.includes(describeContent(bytes, null).kind));
      },
      allows: (error) => error instanceof Error && 'code' in error && typeof error.code === 'string',
    })).timeout(patience(60 + RUNS));
});

/** How many elements are nested in this one. */
function depthOf(root: HtmlElement): number {
  let level = root.elements;
  let depth = 0;
  for (; level.length > 0; depth++) level = level.flatMap((element) => element.elements);
  return depth;
}
