import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const sentence = (words: string, times: number) => `${words} `.repeat(times).trim();

/** An article with a section whose id is a name that themes give to page furniture. */
function pageWith(tag: string, id: string): string {
  return `<!doctype html><html><head><title>Title</title></head><body><article><h1>Title here</h1>
    <p>${sentence('An introduction sentence that is long enough to count.', 4)}</p>
    <${tag} id="${id}"><h2 id="${id}-heading">Section on ${id}</h2><p>${sentence('The text of this section says something of its own.', 4)}</p></${tag}>
    <p>${sentence('A closing sentence of the same article follows here.', 4)}</p></article></body></html>`;
}

describe('fetch_url_content: sections', () => {
  for (const id of [
    'related',
    'related-work',
    'menu',
    'widget',
    'sidebar',
    'share',
    'tags',
    'footer-notes',
    'social',
    'banner',
  ]) {
    for (const tag of ['section', 'div']) {
      it(`keeps the ${tag} with id ${id}`, () => {
        const { content } = readHtml(pageWith(tag, id), 'https://example.org/');
        assert.match(content, new RegExp(`^## Section on ${id}$`, 'm'));
        assert.match(content, /says something of its own/);
        assert.match(content, /A closing sentence/);
      });
    }
  }

  it('keeps headings that are inside links', () => {
    const html = pageWith('div', 'x').replace(
      '<h2 id="x-heading">Section on x</h2>',
      '<a href="index.html"><h2>Section on x</h2></a>',
    );
    assert.match(readHtml(html, 'https://example.org/').content, /^## Section on x$/m);
  });
});
