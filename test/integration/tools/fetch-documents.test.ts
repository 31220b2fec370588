import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFetchUrlContentTool } from '../../../src/tools/fetch-url-content/fetch-url-content.ts';
import { createSafeFetch, type SafeFetch } from '../../../src/tools/safe-fetch/safe-fetch.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { createLocalSearch } from '../../../src/tools/web-search/local/local-search.ts';
import { textPdf } from '../../support/pdf-file.ts';
import { callTool } from '../../support/tool-calls.ts';
import { startWebServer, type WebServer } from '../../support/web-server.ts';

/** Made by pandoc, openpyxl and odfpy from one text; the PDF by groff with tbl, from a text of its own. */
const SAMPLES = new URL('../../fixtures/documents/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/octet-stream',
  xlsx: 'application/zip',
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odp: 'application/octet-stream',
  epub: 'application/epub+zip',
  rtf: 'text/rtf',
  pdf: 'application/pdf',
};

const TEXT = ['The tidal range at Wick is', 'Wick, in the north', 'East pier', 'Straße, naïve, 東京, Ω ≈ 3.', '2.8 m'];
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  docx: [
    ...TEXT,
    '# Tides of the coast',
    '## Stations',
    '- Dover, in the south\n  - East pier',
    '[harbour log](https://example.org/log)',
    '| Wick | 2.8 m |',
  ],
  odt: [
    ...TEXT,
    '# Tides of the coast',
    '## Stations',
    '[harbour log](https://example.org/log)',
    '| Wick | 2.8 m |',
    '$E=mc^2$',
  ],
  epub: [
    ...TEXT,
    '# Tides of the coast',
    '## Stations',
    '[harbour log](https://example.org/log)',
    '| Wick | 2.8 m |',
    '$E = mc^2$',
  ],
  pptx: [...TEXT, '[Slide 2]', '## Tides of the coast', '| Wick | 2.8 m |'],
  // The last row of this file claims to repeat a million times.
  ods: [
    '## Stations',
    '| Station | Range |',
    '| Wick | 2.8 |',
    '| Dover | 6.0 |',
    '## Größe',
    'Straße, naïve, 東京, Ω ≈ 3',
  ],
  odp: [
    'Tides of the coast',
    'The tidal range at Wick is 2.8 m.',
    '[harbour log](https://example.org/log)',
    '- Wick, in the north\n- Dover, in the south',
    'Straße, naïve, 東京, Ω ≈ 3.',
  ],
  rtf: [...TEXT, '| Wick | 2.8 m |'],
  // A table, a list and two columns of prose: only the table becomes a table.
  pdf: [
    'between nine and noon.\n\n| Station | Country | Range (m) | Since |\n| --- | --- | --- | --- |\n| Wick | Scotland | 2.8 | 1965 |',
    '| Stavanger | Norway | 0.4 | 1919 |\n\nThe following list',
    '\n2. The keeper writes the number down.\n',
    'The wind\nof the northern sea drives the water into the bight,\n',
  ],
  xlsx: ['## Stations', '| Wick | 2.8 | 2024-03-05 |', '| Dover \\| pier | 6 | 2024-03-06 |', 'Straße 東京 | TRUE'],
};

describe('fetch_url_content: documents', () => {
  let server: WebServer;
  let safeFetch: SafeFetch;
  let tool: Tool & Disposable;
  before(async () => {
    server = await startWebServer(async (request, response) => {
      const kind = request.url?.split('.').at(-1) ?? '';
      response.writeHead(200, { 'content-type': TYPES[kind] ?? '' });
      response.end(await readFile(new URL(`tides.${kind}`, SAMPLES)));
    });
    safeFetch = createSafeFetch({ allowPrivateAddresses: true });
    tool = createFetchUrlContentTool({ safeFetch });
  });
  after(async () => {
    tool[Symbol.dispose]();
    await safeFetch[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('has a sample of every kind', async () => {
    const kinds = (await readdir(SAMPLES)).map((name) => name.split('.').at(-1));
    assert.deepEqual(kinds.sort(), Object.keys(EXPECTED).sort());
  });

  for (const [kind, expected] of Object.entries(EXPECTED)) {
    it(`reads ${kind}, with an exact or a generic Content-Type`, async () => {
      const { result } = await callTool(tool, { url: `${server.origin}/tides.${kind}` });
      for (const text of expected)
        assert.ok(String(result.content).includes(text), `${text} is not in:\n${result.content}`);
      if (kind === 'pdf') assert.equal(result.title, 'Tides of the North Sea');
      else if (kind !== 'rtf') assert.deepEqual([result.title, result.author], ['Tide tables', 'Ada Marsh']);
    });
  }

  it('searches and reads documents in the local folder too', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    try {
      for (const kind of ['docx', 'epub', 'xlsx']) {
        await copyFile(new URL(`tides.${kind}`, SAMPLES), join(folder, `tides.${kind}`));
      }
      const pdf = textPdf([[{ text: 'The lighthouse at Rona was lit in 1829.', x: 72, y: 700 }]], {
        Title: 'Lighthouses',
      });
      await writeFile(join(folder, 'lights.pdf'), pdf);
      using search = createLocalSearch({ folder });
      const query = { text: 'harbour log storms', limit: 5, filters: { allowedDomains: [], blockedDomains: [] } };
      const { signal } = new AbortController();
      // Parser processes read the files; until then the search answers with what it has.
      let answer = await search.search(query, { signal });
      while (answer.note) answer = await search.search(query, { signal });
      assert.equal(answer.hits.length, 1, 'copies count as one');
      assert.equal(answer.hits[0]?.title, 'Tide tables');
      const lit = await search.search({ ...query, text: 'when was the lighthouse lit' }, { signal });
      assert.equal(lit.hits[0]?.url, 'corpus:///lights.pdf');
      assert.match(lit.hits[0]?.snippet ?? '', /lit in 1829/);
      using local = createFetchUrlContentTool({ safeFetch, corpusFolder: folder });
      const { result } = await callTool(local, { url: 'corpus:///tides.xlsx' });
      assert.match(String(result.content), /\| Wick \| 2\.8 \| 2024-03-05 \|/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
