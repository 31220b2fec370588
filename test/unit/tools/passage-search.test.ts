import assert from 'node:assert/strict';
import { chunkDocument } from '../../../src/tools/web-search/local/chunks.ts';
import { DocumentIndex } from '../../../src/tools/web-search/local/document-index.ts';

const PASSAGES = 4000;

describe('the local search in an index of some thousand passages', () => {
  let index: DocumentIndex;

  before(() => {
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
    index.update({ put, remove: [] });
  });

  after(() => index[Symbol.dispose]());

  const find = (query: string) => index.search(query, 8).map(({ path }) => path);

  it('finds by the rarest words, and common ones still count', () => {
    const found = find('old harbour quetzal');
    assert.equal(found[0], '2507.txt');
    assert.deepEqual(new Set(found), new Set(['2507.txt', '7.txt', '1007.txt', '2007.txt', '3007.txt']));
  });

  it('answers a query of common words alone', () => {
    const found = find('old harbour');
    assert.ok(found.length > 0);
    assert.ok(
      found.every((path) => Number.parseInt(path, 10) % 5 < 2 || path === '2507.txt'),
      `${found}`,
    );
  });

  it('counts words again after documents were taken out', () => {
    assert.ok(find('valley quetzal').includes('7.txt'));
    index.update({ put: [], remove: ['7.txt', '1007.txt', '3007.txt'] });
    assert.deepEqual(new Set(find('valley quetzal')), new Set(['2007.txt', '2507.txt']));
  });
});
