import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DocumentIndex } from '../../../src/tools/web-search/local/document-index.ts';
import { createLocalSearch } from '../../../src/tools/web-search/local/local-search.ts';
import { zipOf } from '../../support/zip-file.ts';

const NOTHING = { allowedDomains: [], blockedDomains: [] };
const SENTENCE = 'The gateway keeps a log of what was done, and readers follow it from any place they like';

describe('the local search', () => {
  it('works in a thread of its own, so the caller’s thread stays mostly idle', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    try {
      for (let at = 0; at < 300; at++) {
        const text = Array.from({ length: 300 }, (_, line) => `Line ${line} of ${at}: word${(at * line) % 997}.`).join(
          '\n',
        );
        await writeFile(join(folder, `${at}.md`), `# Document ${at}\n\n${text}`);
      }
      using search = createLocalSearch({ folder });
      const { signal } = new AbortController();
      const before = process.threadCpuUsage();
      const all = process.cpuUsage();
      const { hits } = await search.search({ text: 'word997 document 17', limit: 5, filters: NOTHING }, { signal });
      const own = process.threadCpuUsage(before);
      const total = process.cpuUsage(all);
      assert.ok(hits.length > 0);
      assert.ok(own.user < total.user / 2, `${own.user} of ${total.user} us`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('finds every document of a folder of large ones', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    try {
      const picture = { name: 'word/media/image1.png', data: Buffer.alloc(7_900_000), stored: true };
      for (let at = 0; at < 10; at++) {
        const data = `<w:document><w:body><w:p><w:r><w:t>Report ${at} on otters.</w:t></w:r></w:p></w:body></w:document>`;
        const bytes = zipOf([{ name: '[Content_Types].xml', data: '' }, { name: 'word/document.xml', data }, picture]);
        await writeFile(join(folder, `${at}.docx`), bytes);
      }
      using search = createLocalSearch({ folder });
      const { signal } = new AbortController();
      for (let found = 0; found < 10; ) {
        const { hits, note } = await search.search({ text: 'otters', limit: 20, filters: NOTHING }, { signal });
        found = hits.length;
        if (!note) assert.equal(found, 10);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('answers several callers although one of them leaves', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    try {
      await writeFile(join(folder, 'a.md'), `# One\n\n${SENTENCE}.`);
      using search = createLocalSearch({ folder });
      const leaving = new AbortController();
      const ask = (text: string, signal = new AbortController().signal) =>
        search.search({ text, limit: 5, filters: NOTHING }, { signal });
      const answers = [ask('gateway'), ask('readers', leaving.signal), ask('log')];
      leaving.abort(new Error('left'));
      await assert.rejects(answers[1] ?? Promise.resolve(), /left/);
      assert.equal((await answers[0])?.hits.length, 1);
      assert.equal((await answers[2])?.hits.length, 1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('shows one of several copies of a document, with its date of publication', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    try {
      await mkdir(join(folder, 'old'));
      const body = `${SENTENCE}. ${SENTENCE.replaceAll('log', 'record').replaceAll('place', 'machine')}.`;
      await writeFile(join(folder, 'guide.md'), `---\ntitle: Guide\ndate: 2024-05-06\n---\n\n${body}`);
      await writeFile(join(folder, 'old', 'guide.md'), `---\ntitle: Guide\n---\n\n${body}`);
      await writeFile(
        join(folder, 'other.md'),
        '# Other\n\nA gateway of another kind, about which readers know little.',
      );
      using search = createLocalSearch({ folder });
      const query = { text: 'guide gateway readers', limit: 5, filters: NOTHING };
      const { hits } = await search.search(query, { signal: new AbortController().signal });
      assert.equal(hits.length, 2);
      assert.deepEqual(hits.map(({ published }) => published).filter(Boolean), ['2024-05-06']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('a large index', () => {
  it('ranks by rare words, and requires all words if none is rare', async () => {
    using index = new DocumentIndex();
    const put = Array.from({ length: 24_000 }, (_, at) => ({
      file: { path: `${at}.md`, signature: 'x' },
      document: {
        title: `Note ${at}`,
        chunks: [
          {
            heading: '',
            text: `common ${at % 2 === 0 ? 'even' : 'odd'} ${at % 5 === 0 ? 'fifth' : 'rest'} ${at === 77 ? 'zeppelin' : ''}`,
          },
        ],
      },
    }));
    await index.putInSlices(...put);
    assert.equal(index.search('common zeppelin odd', 5)[0]?.path, '77.md');
    const both = index.search('even fifth', 5);
    assert.equal(both.length, 5);
    for (const { path } of both) assert.equal(Number.parseInt(path, 10) % 10, 0);
    assert.deepEqual(index.search('nothing', 5), []);
  });
});
