import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const URL = 'https://example.org/page';
const SENTENCE =
  'The harbour was dredged again in the spring, and the ferries kept to the northern channel until June.';
const article = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `<p>Paragraph ${from + at}. ${SENTENCE} ${SENTENCE}</p>`).join('');
const other = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `<p>${name} ${at}. ${SENTENCE} ${SENTENCE} ${SENTENCE}</p>`).join('');
const page = (body: string, head = '') =>
  `<!doctype html><html><head><title>Dredging of the harbour</title>${head}</head><body>${body}</body></html>`;
const read = (html: string) => readHtml(html, URL).content;

describe('the main text of pages', () => {
  it('begins behind the title, where longer text of something else stands on the page', () => {
    const html =
      page(`<div class="wrap"><div class="top"><h1>Dredging of the harbour</h1><div class="x1">${article(1, 4)}</div></div>
      <div class="x2"><h2>The editor</h2>${other('Biography', 9)}</div></div>`);
    const content = read(html);
    for (const at of [1, 2, 3]) assert.match(content, new RegExp(`Paragraph ${at}\\.`));
  });

  it('is the article under its title, not the next one that the page loads behind it', () => {
    const html =
      page(`<main><article><h1>Dredging of the harbour</h1><div class="entry-text">${article(1, 4)}</div></article>
      <article><h1>A second story</h1><div class="entry-text">${other('Second', 12)}</div></article>
      <article><h1>A third story</h1><div class="entry-text">${other('Third', 9)}</div></article></main>`);
    const content = read(html);
    assert.match(content, /Paragraph 3\./);
    assert.doesNotMatch(content, /Second 1\.|Third 1\./);
  });

  it('may be a short note under many comments and notices', () => {
    const html = page(`<div class="site"><div class="entry"><h2>Dredging of the harbour</h2><div class="post-content">
      <p>The ferries are back, says the harbour master.</p><p>They came at nine, all three of them.</p></div></div>
      <div class="bar"><p>We use cookies to make this site work and to measure how it is used; read our notice to learn more of them.</p></div></div>`);
    const content = read(html);
    assert.match(content, /The ferries are back/);
    assert.match(content, /all three of them/);
  });

  it('is taken from structured data where the page itself has none', () => {
    const text = [SENTENCE, SENTENCE, SENTENCE, SENTENCE, SENTENCE, 'The last paragraph is here.'].map(
      (each, at) => `Note ${at}: ${each}`,
    );
    const data = JSON.stringify({ '@type': 'NewsArticle', headline: 'Dredging', articleBody: text.join('\n') });
    const html = page(
      '<div id="app"><h1>Dredging of the harbour</h1></div>',
      `<script type="application/ld+json">${data}</script>`,
    );
    assert.equal(read(html), text.join('\n\n'));
  });

  it('stays where the name of its layout has the name of a sidebar in it', () => {
    for (const name of ['o-row c-fixed-sidebar-layout--left', 'has-sidebar', 'l-with-nav', 'no_sidebar']) {
      const html =
        page(`<div class="page"><h1>Dredging of the harbour</h1><div class="${name}"><div>${article(1, 5)}</div></div>
        <div class="teasers">${other('Elsewhere', 5)}</div></div>`);
      assert.match(read(html), /Paragraph 4\./, name);
    }
    const html = page(
      `<div><h1>Dredging of the harbour</h1>${article(1, 6)}<div class="sidebar-left"><p>Noise. ${SENTENCE}</p></div></div>`,
    );
    assert.doesNotMatch(read(html), /Noise/);
  });

  it('goes on behind a list of other stories', () => {
    const html = page(`<article><h1>Dredging of the harbour</h1>${article(1, 6)}<h3>Recommended by our editors</h3>
      <ul><li><a href="/1">A story of something else</a></li><li><a href="/2">Another story of something else</a></li></ul>${article(6, 9)}
      <h3>Read also</h3><p><a href="/3">The story of the quay that was built</a></p></article>`);
    const content = read(html);
    assert.match(content, /Paragraph 8\./);
    assert.doesNotMatch(content, /something else|Recommended/);
  });

  it('keeps the teasers of a page that is made of them', () => {
    const teasers = Array.from(
      { length: 12 },
      (_, at) => `<div class="teaser"><h3>Story ${at}</h3><p>Teaser ${at}. ${SENTENCE}</p></div>`,
    );
    const content = read(page(`<main><h1>News of the coast</h1>${teasers.join('')}</main>`));
    for (const at of [0, 5, 11]) assert.match(content, new RegExp(`Teaser ${at}\\.`));
  });

  it('has no breadcrumbs, dates and names before it, and no label without its list behind it', () => {
    const html = page(`<article><p><a href="/">Home</a> &gt; <a href="/n">News</a></p><h1>Dredging of the harbour</h1>
      <p>By Karin Lund</p><p>12.03.2021, 10:30</p>${article(1, 6)}<p>More on this:</p></article>`);
    const content = read(html);
    assert.match(content, /^(?:#+ Dredging of the harbour\n\n)?Paragraph 1\./);
    assert.doesNotMatch(content, /Home|Karin|12\.03|More on this/);
  });

  it('keeps the introduction in a header', () => {
    const html = page(
      `<main><header><h2>Dredging</h2><p>Lead. ${SENTENCE} ${SENTENCE}</p></header>${article(1, 6)}</main>`,
    );
    assert.match(read(html), /Lead\./);
  });

  it('is not interrupted by how its characters are read', () => {
    const line = '港の浚渫は春に再び行われ、フェリーは六月まで北の水路を通った。'.repeat(4);
    const html = page(
      `<article><h1>港の浚渫</h1><p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>を読む。${line}</p><p>${line}</p></article>`,
    );
    const content = read(html);
    assert.match(content, /漢字を読む。/);
  });

  it('is free of the notices of its publisher', () => {
    const notices = [
      'Sign up for our newsletter and get the best stories in your inbox.',
      'Abonnieren Sie kostenlos unseren Newsletter und bleiben Sie auf dem Laufenden.',
      'You must be logged in to post a comment.',
      'Klicken Sie auf den unteren Button, um den Inhalt von www.example.org zu laden.',
      'Dieser Beitrag wurde am 3. Mai veröffentlicht und verschlagwortet mit Hafen.',
      'This post contains affiliate links.',
      'Lade weitere Inhalte …',
      'nach oben',
    ];
    const html = page(`<article><h1>Dredging of the harbour</h1>${article(1, 3)}
      ${notices.map((notice) => `<p>${notice}</p>`).join('')}${article(3, 6)}</article>`);
    const content = read(html);
    for (const notice of notices) assert.ok(!content.includes(notice), notice);
    for (const at of [1, 2, 3, 4, 5]) assert.match(content, new RegExp(`Paragraph ${at}\\.`));
  });

  it('ends where comments begin, even those of its own form', () => {
    const html = page(`<div class="post"><h1>Dredging of the harbour</h1>${article(1, 8)}<h3>Comments</h3>
      <p>First comment. ${SENTENCE} ${SENTENCE}</p></div>`);
    assert.doesNotMatch(read(html), /First comment/);
  });

  it('ends with its last sentence, not with links to other articles; links to its sources stay', () => {
    const head = '<meta property="og:type" content="article">';
    const links =
      '<p><a href="/1">The story of the quay that was built in May</a></p><p><a href="/2">A ferry that came late again</a></p>';
    const body = (label: string) =>
      `<article><h1>Dredging of the harbour</h1>${article(1, 8)}${label}${links}</article>`;
    assert.doesNotMatch(read(page(body(''), head)), /quay|late again/);
    assert.match(read(page(body('<p>Sources:</p>'), head)), /quay[\s\S]*late again/);
  });

  it('has links that start from the base of the page, once', () => {
    const head = '<meta name="generator" content="Sphinx"><base href="manual/">';
    assert.match(
      read(page(`${article(1, 4)}<p>See <a href="pumps">pumps</a>.</p>`, head)),
      /\(https:\/\/example\.org\/manual\/pumps\)/,
    );
  });
});
