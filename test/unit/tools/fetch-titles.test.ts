import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const TEXT =
  'The bilge pump of our dinghy runs dry after a minute, although its strainer was cleaned twice and the hose is new.';

describe('Titles', () => {
  it('takes the heading for a title with its markup, and undoes a second escaping', () => {
    const head = (title: string) => `<meta property="og:title" content="${title}">`;
    const titleOf = (title: string, heading: string) =>
      readHtml(
        `<html><head>${head(title)}</head><body><h1>${heading}</h1><p>${TEXT}</p></body></html>`,
        'https://a.example/',
      ).title;
    assert.equal(titleOf('Five boats &lt;br/&gt;sank', 'Five boats <br>sank'), 'Five boats sank');
    assert.equal(titleOf('Bed &amp;amp; boat', 'Stay'), 'Bed & boat');
    assert.equal(titleOf('&lt;br&gt;: The line break', '&lt;br&gt;: The line break'), '<br>: The line break');
  });
});
