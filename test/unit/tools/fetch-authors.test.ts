import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const PROSE =
  '<p>The lake is deep, and nobody knows what lies at its end, as fishermen tell each other in winter.</p>' +
  '<p>It was measured twice, and a second paragraph says more of the weather when the wind comes from the south.</p>';

/** The author read from an article with `below` under its heading, `head` in its head and `behind` after it. */
function authorOf(below: string, head = '', behind = ''): string | undefined {
  const article = `<article><h1>The lake</h1>${below}${PROSE}</article>`;
  const html = `<html><head><title>The lake</title>${head}</head><body><main>${article}</main>${behind}</body></html>`;
  return readHtml(html, 'https://site.example/lake').author;
}

const data = (...values: object[]) =>
  values.map((value) => `<script type="application/ld+json">${JSON.stringify(value)}</script>`).join('');
const article = (fields: object) => ({ '@type': 'Article', headline: 'The lake', ...fields });
const jane = { '@type': 'Person', '@id': '#jane', name: 'Jane Doe' };
const ravi = { '@type': 'Person', '@id': '#ravi', name: 'Ravi Kumar' };

/** Places in which a page names its author: pages with one author, and pages with two. */
const ONE: Readonly<Record<string, [below: string, head?: string]>> = {
  'a reference within a JSON-LD graph': ['', data({ '@graph': [article({ author: { '@id': '#jane' } }), jane] })],
  'a reference to another script': ['', data(article({ author: { '@id': '#jane' } }), jane)],
  'a list of one name': ['', data(article({ author: { name: ['Jane Doe'] } }))],
  'a given and a family name': ['', data(article({ author: { givenName: 'Jane', familyName: 'Doe' } }))],
  'a creator': ['', data(article({ creator: jane }))],
  'a meta tag beside a dangling reference': [
    '',
    `${data(article({ author: { '@id': '#none' } }))}<meta name="author" content="Jane Doe">`,
  ],
  'a link beside the address of a profile': [
    '<a rel="author" href="/jane">Jane Doe</a>',
    '<meta property="article:author" content="facebook.com/jane">',
  ],
  'a byline with a role after the name': ['<p>By Jane Doe, Senior Editor</p>'],
  'a byline with a date before the name': ['<p>Posted on March 3, 2025 by Jane Doe</p>'],
  'a byline with a date after the name': ['<div>Submitted by <a href="/u/1">Jane Doe</a> on 2025-03-03</div>'],
  'a byline with » after the name, as in forums': [
    '<p class="author">by <b><a href="/u/1">Jane Doe</a></b> » 3 May</p>',
  ],
  'a line with a date and the name': ['<div>March 3, 2025&nbsp;·&nbsp;5 min&nbsp;·&nbsp;Jane Doe</div>'],
  'a link to all posts': ['<span class="author"><a href="/a">View all posts by Jane Doe</a></span>'],
  'a byline with a line break': ['<div class="author">Von\n<a href="/a">Jane Doe</a></div>'],
  'a label': ['<p>Author: Jane Doe</p>'],
  'a label in German': ['<p>Autor: Jane Doe</p>'],
  'the line after "Written by"': ['<div>Written by</div><div>Jane Doe</div>'],
  'a docutils field': [
    '<dl class="field-list"><dt>Author<span class="colon">:</span></dt><dd><p>Jane Doe</p></dd></dl>',
  ],
  'a table cell': ['<table><tr><th>Author:</th><td>Jane Doe</td></tr></table>'],
  'a WordPress block': [
    '<div class="wp-block-post-author"><p class="wp-block-post-author__byline">Written by</p><p class="wp-block-post-author__name">Jane Doe</p></div>',
  ],
  'a Ghost class name': ['<h4 class="gh-article-author-name"><a href="/author/j">Jane Doe</a></h4>'],
  'a generated class name': ['<span class="Byline_authorName__x1Yz">Jane Doe</span>'],
  'a data-testid attribute': ['<a data-testid="authorName" href="/@j">Jane Doe</a>'],
  'a link to an author page': ['<div>March 3, 2025 · <a href="/author/jane-doe">Jane Doe</a></div>'],
};

const TWO: Readonly<Record<string, [below: string, head?: string]>> = {
  'a list of references': ['', data({ '@graph': [article({ author: [{ '@id': '#jane' }, ravi] }), jane] })],
  'two meta tags': ['', '<meta name="author" content="Jane Doe"><meta name="author" content="Ravi Kumar">'],
  'two links': ['<p>By <a rel="author" href="/a">Jane Doe</a> and <a rel="author" href="/b">Ravi Kumar</a></p>'],
  'two adjacent microdata items': [
    ['Jane Doe', 'Ravi Kumar'].map((name) => `<span itemprop="author"><b itemprop="name">${name}</b></span>`).join(''),
  ],
  'Docusaurus avatars': [
    `<div class="row">${['Jane Doe', 'Ravi Kumar'].map((name) => `<div class="col"><div class="avatar__name"><span>${name}</span></div></div>`).join('')}</div>`,
  ],
  'LaTeXML author names': [
    '<div class="ltx_authors"><span class="ltx_personname">Jane Doe<br>University</span><span class="ltx_personname">Ravi Kumar</span></div>',
  ],
  'Pandoc author lines': ['<p class="author">Jane Doe</p><p class="author">Ravi Kumar</p><p class="date">2025</p>'],
  'a byline': ['<p>By Jane Doe and Ravi Kumar</p>'],
  'a label before both': ['<p>Authors: Jane Doe, Ravi Kumar</p>'],
};

describe('the authors of a page', () => {
  for (const [how, [below, head]] of Object.entries(ONE))
    it(`are read from ${how}`, () => assert.equal(authorOf(below, head), 'Jane Doe'));
  for (const [how, [below, head]] of Object.entries(TWO))
    it(`are both read from ${how}`, () => assert.equal(authorOf(below, head), 'Jane Doe, Ravi Kumar'));

  it('are not taken from comments, other pages, or phrases that name nobody', () => {
    const behind =
      '<section class="comments"><b class="author">Troll Guy</b><p>Nice.</p></section>' +
      '<aside class="related"><a href="/x">Another post</a> <a href="/author/zed">Zed Other</a></aside>';
    assert.equal(authorOf('<p>March 3, 2025</p>', '', behind), '');
    assert.equal(authorOf('<p>By the Lake of Geneva</p>'), '');
    assert.equal(authorOf('<p>Last updated by <a href="/u/jane">Jane Doe</a></p>'), '');
  });

  it('are kept whole if a name only looks like several', () => {
    assert.equal(authorOf('', '<meta name="author" content="Smith and Sons">'), 'Smith and Sons');
    assert.equal(authorOf('<p>By Marks and Spencer</p>'), 'Marks and Spencer');
  });
});
