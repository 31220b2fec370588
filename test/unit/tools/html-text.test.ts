import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { htmlToText } from '../../../src/tools/text/html-text.ts';
import { stripMarkup } from '../../../src/tools/text/strip-markup.ts';

const text = (html: string) => htmlToText(html).text;

describe('the plain text of HTML', () => {
  it('decodes every named reference, with or without its semicolon', () => {
    assert.equal(
      text('<p>I &hearts; &Aacute; &copy 2024 &amp;lt; &#8364;&#x80; a&shy;b&nbsp;c</p>'),
      'I ♥ Á © 2024 &lt; €€ ab c',
    );
    assert.equal(stripMarkup('&lsaquo; <b>next</b> &rsaquo;'), '‹ next ›');
  });

  it('keeps headings, list items and table cells', () => {
    const html = '<h2>Tides</h2><p>One<br>two</p><ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table>';
    assert.equal(text(html), '## Tides\n\nOne\ntwo\n\n- a\n- b\n\n1 | 2 |');
  });

  it('takes the title from <title>, else from the first heading', () => {
    assert.equal(htmlToText('<title>A &amp; <b>B</title><h1>C</h1><svg><title>D</title></svg>').title, 'A & B');
    assert.equal(htmlToText('<title></title><h1>C <i>d</i></h1>').title, 'C d');
  });

  it('omits scripts, menus and drawings, if they are closed', () => {
    assert.equal(text('a<script>if (a<b) x("</p>")</script>b<nav>menu</nav>c<style/>p{}</style>d'), 'abcd');
    assert.equal(text('a<nav>menu that nothing closes'), 'amenu that nothing closes');
    assert.equal(text('<div><svg><use/></div><h3>Kept</h3><svg></svg>'), '### Kept');
  });

  it('is complete despite broken tags, comments and quotes', () => {
    assert.equal(text('a < b and <!-- no --> c <3 d <p class="x>y">e</p>'), 'a < b and c <3 d\n\ne');
    assert.equal(text('before <a href="'), 'before');
  });

  it('includes the CDATA of feeds', () => {
    assert.equal(text('<item><description><![CDATA[<p>The <b>tide</b></p>]]></description></item>'), 'The tide');
  });
});

describe('a malformed page', () => {
  const prose =
    'The sea rises and it falls twice a day, as everyone knows who lives at the coast of the north. '.repeat(4);
  const page = (inside: string) => readHtml(`<title>T</title><body>${inside}</body>`, 'https://example.org/').content;

  it('keeps the article after an unclosed SVG', () => {
    const content = page(`<div><svg><use href="#a"/></div><article><h1>T</h1><p>${prose}</p><svg></svg></article>`);
    assert.ok(content.includes(prose.trim()), content);
  });

  it('does not form a new tag from the remains of a removed one', () => {
    assert.match(page(`<p>${prose} a <<script>x</script>b> c</p>`), /a <b> c/);
  });

  it('is read as text if its tags are nested too deeply for a tree', () => {
    for (const name of ['div', 'b', 'svg', 'template', 'math']) {
      const content = page(`${`<${name}>`.repeat(20_000)}${`</${name}>`.repeat(20_000)}<p>${prose}</p>`);
      assert.ok(content.includes(prose.trim()), name);
    }
  });
});
