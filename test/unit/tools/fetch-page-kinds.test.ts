import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const SENTENCE =
  'The harbour was dredged again in the spring, and the ferries kept to the northern channel until June.';
const page = (body: string, head = '<title>Harbour</title>') =>
  `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`;
const read = (body: string, head?: string) => readHtml(page(body, head), 'https://example.org/a/b');

/** Pages with text that their Markdown has and text that it lacks. */
const KINDS: Record<string, { body: string; head?: string; has: readonly string[]; lacks?: readonly string[] }> = {
  'release notes without a sentence': {
    body: `<header><a href="/">Tallow</a><nav><a href="/docs">Docs</a></nav></header><main><h1>Releases</h1><h2>4.2</h2>
      <ul><li>Snapshots.</li></ul></main><div>We use cookies.</div><footer>© Tallow</footer>`,
    has: ['# Releases\n\n## 4.2\n\n- Snapshots.'],
    lacks: ['Docs', 'Tallow', 'cookies'],
  },
  'frames, which are read by their links': {
    body: '<frameset><frame src="menu.html" name="menu"><frame src="/text" title="The text"><noframes>Sorry</noframes></frameset>',
    has: ['[menu](https://example.org/a/menu.html)', '[The text](https://example.org/text)'],
    lacks: ['Sorry'],
  },
  'a forum without landmarks': {
    body: `<div><a href="/">Forum</a> <a href="/m">Members</a></div><h1>No pressure</h1><div>Check the valve.</div>`,
    has: ['# No pressure\n\nCheck the valve.'],
    lacks: ['Members'],
  },
  'ARIA tabs': {
    body: `<main><p>${SENTENCE}</p><div role="tablist"><button role="tab">Linux</button><button role="tab">macOS</button></div>
      <div role="tabpanel"><pre>apt install fathom</pre></div><div role="tabpanel" hidden><pre>brew install fathom</pre></div></main>`,
    has: ['**Linux**\n\n```\napt install fathom\n```\n\n**macOS**\n\n```\nbrew install fathom'],
  },
  'MkDocs tabs': {
    body: `<main><p>${SENTENCE}</p><div class="tabbed-set"><div class="tabbed-labels"><label>Linux</label><label>macOS</label></div>
      <div class="tabbed-content"><div class="tabbed-block"><p>apt</p></div><div class="tabbed-block"><p>brew</p></div></div></div></main>`,
    has: ['**Linux**\n\napt\n\n**macOS**\n\nbrew'],
  },
  'verses in elements that end with a line break': {
    body: `<h1>Tides</h1><div>The tide comes in,<br></div><div>and goes.<br></div><div><br></div><div>Nobody hears.<br></div>`,
    has: ['The tide comes in,\nand goes.\n\nNobody hears.'],
  },
  'clauses whose numbers are separated by styles': {
    body: `<h1>Act</h1><h3><span>1</span><span>Interpretation</span></h3><p><span>(1)</span><span>In this Act</span></p>`,
    has: ['### 1 Interpretation', '(1) In this Act'],
  },
  'a clause in its own list between paragraphs': {
    body: `<main><p>${SENTENCE}</p><p>Conclusion</p><ol start="5"><li><p>I allow the appeal.</p></li></ol><p>${SENTENCE}</p></main>`,
    has: ['5. I allow the appeal.'],
  },
  'icons in cells, and header cells without a row': {
    body: `<table><thead><th></th><th>Belt</th></thead><tr><th>X2</th><td><svg aria-label="Yes"></svg></td></tr></table>`,
    has: ['|  | Belt |', '| X2 | Yes |'],
  },
  'text that only a script would render': {
    body: `<div id="root"></div><noscript>Enable JavaScript.</noscript><script type="application/json">${JSON.stringify(
      {
        post: { title: 'Harbour', content: `<h2>Spring</h2><p>${SENTENCE}</p><p>${SENTENCE} Twice.</p>` },
      },
    )}</script>`,
    has: ['## Spring\n\nThe harbour was dredged', 'Twice.'],
    lacks: ['JavaScript'],
  },
  'footnote references': {
    body: `<p>First, it was boring.<a href="#footnote-1">1</a> ${SENTENCE}</p>`,
    has: ['boring.[1] The'],
  },
  'AMP images': {
    body: `<article><h1>Harbour</h1><p>${SENTENCE}</p><amp-img src="/f.jpg" alt="Smoke"></amp-img><p>${SENTENCE} Again.</p></article>`,
    has: ['![Smoke](https://example.org/f.jpg)'],
  },
  'headings by role': {
    body: `<div role="heading" aria-level="3">Travel</div><p>${SENTENCE}</p>`,
    has: ['### Travel'],
  },
};

describe('pages of many kinds', () => {
  for (const [kind, { body, head, has, lacks = [] }] of Object.entries(KINDS)) {
    it(`are read: ${kind}`, () => {
      const { content } = read(body, head);
      for (const text of has) assert.ok(content.includes(text), `${text}\n---\n${content}`);
      for (const text of lacks) assert.ok(!content.includes(text), `${text}\n---\n${content}`);
    });
  }

  it('have an author, wherever the name is found', () => {
    const authors: [body: string, head: string, author: string][] = [
      ['<div class="author"><b>tinker71</b><br>Posts: 12</div>', '', 'tinker71'],
      ['<p class="byline">by Priya Raman, updated 3 June 2025</p>', '', 'Priya Raman'],
      ['<h1>Harbour</h1><p>By <b>John Gruber</b></p>', '', 'John Gruber'],
      ['', '<meta name="author" content="By 9to5Mac Staff">', '9to5Mac Staff'],
      ['', '<meta name="author" content="Studio 54">', 'Studio 54'],
      ['', '<meta name="citation_authors" content="Okafor C;Sato M">', 'Okafor C, Sato M'],
      ['', '<meta property="og:title" content="Alice (@alice@social.example)">', 'Alice'],
      ['<h1>Порт</h1><p>Автор: Анна Ковалёва</p>', '', 'Анна Ковалёва'],
      ['<h1>港</h1><p>作者：山田太郎</p>', '', '山田太郎'],
      ['<h1>항구</h1><p>글쓴이</p><p>김민준</p>', '', '김민준'],
      ['<h1>ميناء</h1><p>بقلم ليلى حداد</p>', '', 'ليلى حداد'],
      ['<h1>Liman</h1><p>Yazar: Ayşe Yılmaz</p>', '', 'Ayşe Yılmaz'],
    ];
    for (const [body, head, author] of authors)
      assert.equal(read(`${body}<p>${SENTENCE}</p>`, head).author, author, body + head);
    const nobody = read(
      `<p class="byline">Published May 22, 2026</p><p>${SENTENCE}</p>`,
      '<meta name="author" content=". .">',
    );
    assert.equal(nobody.author, '');
  });

  it('have a publication date from attributes or text, not that of other pages', () => {
    const dates: [body: string, date: string][] = [
      ['<p>Posted <span title="2022-04-01 10:11:12Z">2 years ago</span></p>', '2022-04-01 10:11:12Z'],
      [
        '<p>May 22, 2026</p><h1>Harbour</h1><aside><a href="/x"><time datetime="2026-03-05">Mar 5</time></a></aside>',
        '2026-05-22',
      ],
      ['<h1>Harbour</h1><p>Published 14/02/2025</p>', '2025-02-14'],
    ];
    for (const [body, date] of dates) assert.equal(read(`${body}<p>${SENTENCE}</p>`).published, date, body);
    const cited = '<meta name="citation_date" content="08/14/2023">';
    assert.equal(read(`<p>${SENTENCE}</p>`, cited).published, '2023-08-14');
    const undashed = '<meta name="citation_date" content="20230814T130000Z">';
    assert.equal(read(`<p>${SENTENCE}</p>`, undashed).published, '2023-08-14T13:00:00Z');
    const html = page(`<h1>A</h1><p>${SENTENCE}</p>`);
    assert.equal(readHtml(html, 'https://example.org/2023/08/14/harbour').published, '2023-08-14');
    assert.equal(readHtml(html, 'https://example.org/2023/99/14/harbour').published, '');
  });

  it('have a publication date in the words, digits and order of their language', () => {
    const dates: [written: string, language: string, date: string][] = [
      ['3 maja 2024', 'pl', '2024-05-03'],
      ['3. toukokuuta 2024', 'fi', '2024-05-03'],
      ['2024. május 3.', 'hu-HU', '2024-05-03'],
      ['3 Mayıs 2024', 'tr', '2024-05-03'],
      ['3 พ.ค. 2567', 'th', '2024-05-03'],
      ['٣ مايو ٢٠٢٤', 'ar', '2024-05-03'],
      ['2024년 5월 3일', 'ko', '2024-05-03'],
      ['2024. 5. 3.', 'ko', '2024-05-03'],
      ['3 tháng 5, 2024', 'vi', '2024-05-03'],
      ['3 במאי 2024', 'he', '2024-05-03'],
      ['३ मई २०२४', 'hi', '2024-05-03'],
      ['2024 m. gegužės 3 d.', 'lt', '2024-05-03'],
      ['3 de maig de 2024', 'ca', '2024-05-03'],
      // The same word is another month elsewhere.
      ['3 listopada 2024', 'pl', '2024-11-03'],
      ['3. listopada 2024.', 'hr', '2024-10-03'],
      ['Sept. 3, 2024', 'en', '2024-09-03'],
    ];
    for (const [written, language, date] of dates) {
      const html = page(`<h1>A</h1><p>${written}</p><p>${SENTENCE}</p>`).replace('lang="en"', `lang="${language}"`);
      assert.equal(readHtml(html, 'https://example.org/a/b').published, date, written);
    }
    for (const other of ['1403-02-14', 'Chapter 3 2024', 'Part 1 page 3 2024', '31 May 12024'])
      assert.equal(read(`<h1>A</h1><p>${other}</p><p>${SENTENCE}</p>`).published, '', other);
  });

  it('have a change date from a link to changes or a note beside the text', () => {
    const changes: string[] = [
      '<div>Modified <a href="?lastactivity" title="2024-02-03 10:00:00Z">2 years ago</a></div>',
      '<aside><p>This page was last modified on <time datetime="2024-02-03 10:00:00Z">Feb 3</time>.</p></aside>',
    ];
    for (const change of changes)
      assert.equal(read(`<p>${SENTENCE}</p>${change}`).updated, '2024-02-03 10:00:00Z', change);
  });

  it('are read from the state that a script sets, including short texts among long ones', () => {
    const text = '湖は深く、その底に何があるのかを知る人はいないと、冬になると漁師たちは語り合う。';
    const blocks = [
      { text: 'Comments' },
      { text: SENTENCE, id: 'a text of some other kind' },
      { text },
      { text: SENTENCE + SENTENCE },
    ];
    const script = `window.__INITIAL_STATE__ = ${JSON.stringify({ menu: [{ name: 'Home' }], blocks })};`;
    const { content } = read(
      `<div id="app"></div><script>${script}</script><script>window.x = {not: 'json'};</script>`,
    );
    assert.equal(content, ['Comments', SENTENCE, text, SENTENCE + SENTENCE].join('\n\n'));
  });

  it('are read if the data of a script has very many lines', () => {
    const lines = `${SENTENCE}\n\n`.repeat(5000) + '<br>'.repeat(150_000);
    const { content } = read(`<script type="application/json">${JSON.stringify([SENTENCE.repeat(3), lines])}</script>`);
    assert.match(content, /The harbour was dredged/);
  });
});
