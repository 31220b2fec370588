import assert from 'node:assert/strict';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { DocumentIndex } from '../../../src/tools/web-search/local/document-index.ts';
import { openIndexDatabase } from '../../../src/tools/web-search/local/index-database.ts';
import { PassageSearch } from '../../../src/tools/web-search/local/passage-search.ts';

const PASSAGES = 4000;

describe('the local search over a few thousand passages', () => {
  let index: DocumentIndex;

  before(async () => {
    index = new DocumentIndex();
    const texts = Array.from({ length: PASSAGES }, (_, at) => {
      const rare = at % 1000 === 7 ? 'The quetzal sat there.' : 'Nobody sat there.';
      return `${at % 5 < 2 ? 'The harbour is old.' : 'The valley is old.'} ${rare} It is number ${at}.`;
    });
    texts[2507] = 'The harbour is old. The quetzal sat in the harbour.';
    const put = texts.map((text, at) => {
      const path = `${at}.txt`;
      return {
        file: { path, signature: '' },
        document: chunkDocument(text, { contentType: 'text/plain', name: path }),
      };
    });
    await index.putInSlices(...put);
  });

  after(() => index[Symbol.dispose]());

  const find = (query: string) => index.search(query, 8).map(({ path }) => path);

  it('finds by the rarest words, and ranks by common ones too', () => {
    const found = find('old harbour quetzal');
    assert.equal(found[0], '2507.txt');
    assert.deepEqual(new Set(found), new Set(['2507.txt', '7.txt', '1007.txt', '2007.txt', '3007.txt']));
  });

  it('answers a query of common words only', () => {
    const found = find('old harbour');
    assert.ok(found.length > 0);
    assert.ok(
      found.every((path) => Number.parseInt(path, 10) % 5 < 2 || path === '2507.txt'),
      `${found}`,
    );
  });

  it('counts words anew after documents are removed', async () => {
    assert.ok(find('valley quetzal').includes('7.txt'));
    await index.removeInSlices(['7.txt', '1007.txt', '3007.txt']);
    assert.deepEqual(new Set(find('valley quetzal')), new Set(['2007.txt', '2507.txt']));
  });
});

describe('the local search among short and long passages', () => {
  it('puts the passage with the name that is asked about before short ones with the other words of the question', async () => {
    using index = new DocumentIndex();
    const bridges = Array.from({ length: 12 }, (_, at) => `The bridge Bridgeville${at} spans ${7000 + at} metres.`);
    const minutes = (at: number) => `In year ${at} the council met, and nothing was decided. `.repeat(8);
    const prose = Array.from({ length: 100 }, (_, at) => minutes(at));
    const about = `${minutes(200)}The bridge Vordrais spans 8821 metres. ${minutes(201)}`;
    const put = [...bridges, ...prose, about].map((text, at) => {
      const file = { path: `${at}.txt`, signature: '' };
      return { file, document: chunkDocument(text, { contentType: 'text/plain', name: file.path }) };
    });
    await index.putInSlices(...put);
    const { passages } = index.find('How many metres does the bridge Vordrais span?');
    assert.match(passages[0]?.text ?? '', /Vordrais/);
  });
});

describe('PassageSearch in a large index', () => {
  const LARGE = 60_000;
  let search: PassageSearch;

  before(() => {
    const db = openIndexDatabase(undefined, { owner: true });
    db.exec(`
      BEGIN;
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LARGE})
      INSERT INTO chunks (id, document, heading, text) SELECT i, 1 + i / 100, '', i FROM n;
      INSERT INTO documents (path, signature, title, language, vocabulary)
        SELECT DISTINCT document, '', '', 'en', 0 FROM chunks ORDER BY document;
      INSERT INTO words (rowid, title, heading, body, parts) SELECT id, '', '',
        iif(id % 10 = 0, 'all', 'all over') || iif(id % 4 = 0, ' fourth', '') || iif(id % 4 = 1 AND id % 3 = 0, ' other', '')
          || iif(id % 5 = 0, ' fifth', '') || iif(id % 30000 = 20, ' rare', ''), '' FROM chunks;
      COMMIT`);
    search = new PassageSearch(db);
  });

  const find = (words: string, within?: readonly number[]) => {
    const terms = words.split(' ').map((word) => `"${word}"`);
    return search.search(terms, terms, within).map(({ text }) => Number(text));
  };

  it('searches by rare words if there are any', () => {
    assert.deepEqual(find('all fourth rare').toSorted(), [20, 30020]);
  });

  it('requires all common words, but not those found everywhere', () => {
    const found = find('all over fourth fifth');
    assert.ok(found.length > 20 && found.every((id) => id % 20 === 0), `${found}`);
  });

  it('finds passages that have every word, if all of the words are in most passages', () => {
    const found = find('all over');
    assert.ok(found.length > 20 && found.every((id) => id % 10 !== 0), `${found}`);
    assert.ok(find('all over', [7]).every((id) => id >= 600 && id < 700 && id % 10 !== 0));
  });

  it('searches by the rarest of common words that never occur together', () => {
    const found = find('fourth other');
    assert.ok(found.length > 20 && found.every((id) => id % 12 === 9), `${found}`);
  });

  it('searches within few documents and within most of them', () => {
    assert.deepEqual(find('fourth fifth', [7]).toSorted(), [600, 620, 640, 660, 680]);
    const most = Array.from({ length: LARGE / 100 - 1 }, (_, at) => at + 2);
    assert.ok(!find('rare', most).includes(20) && find('rare', most).includes(30020));
    assert.deepEqual(find('fourth', [LARGE]), []);
  });
});
