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

describe('the main text of a page', () => {
  it('begins after the title, even if unrelated text on the page is longer', () => {
    const html =
      page(`<div class="wrap"><div class="top"><h1>Dredging of the harbour</h1><div class="x1">${article(1, 4)}</div></div>
      <div class="x2"><h2>The editor</h2>${other('Biography', 9)}</div></div>`);
    const content = read(html);
    for (const at of [1, 2, 3]) assert.match(content, new RegExp(`Paragraph ${at}\\.`));
  });

  it('is the article under its title, not the next ones loaded after it', () => {
    const html =
      page(`<main><article><h1>Dredging of the harbour</h1><div class="entry-text">${article(1, 4)}</div></article>
      <article><h1>A second story</h1><div class="entry-text">${other('Second', 12)}</div></article>
      <article><h1>A third story</h1><div class="entry-text">${other('Third', 9)}</div></article></main>`);
    const content = read(html);
    assert.match(content, /Paragraph 3\./);
    assert.doesNotMatch(content, /Second 1\.|Third 1\./);
  });

  it('may be a short note beside a longer notice', () => {
    const html = page(`<div class="site"><div class="entry"><h2>Dredging of the harbour</h2><div class="post-content">
      <p>The ferries are back, says the harbour master.</p><p>They came at nine, all three of them.</p></div></div>
      <div class="bar"><p>We use cookies to make this site work and to measure how it is used; read our notice to learn more of them.</p></div></div>`);
    const content = read(html);
    assert.match(content, /The ferries are back/);
    assert.match(content, /all three of them/);
  });

  it('is what the page is about, however short its lines are and however long its notices', () => {
    const notice = `<div class="consent"><p>${SENTENCE} We use cookies to make this site work.</p><button>Accept</button></div>`;
    const aside =
      '<div class="side"><h3>Most read</h3><ul><li><a href="/1">The mayor opens a bridge</a></li></ul></div>';
    const footer = `<footer><p>Example is an independent publisher. ${SENTENCE}</p></footer>`;
    const lines = Array.from({ length: 9 }, (_, at) => `<div class="post"><b>Anna</b><p>Short answer ${at}.</p></div>`);
    for (const tag of ['div', 'main', 'section']) {
      const main = `<${tag} class="thread"><h1>Dredging of the harbour</h1>${lines.join('')}</${tag}>`;
      for (const body of [notice + main + aside + footer, aside + main + footer + notice]) {
        const content = read(page(`<div class="layout">${body}</div>`));
        for (const at of lines.keys()) assert.match(content, new RegExp(`Short answer ${at}\\.`));
        assert.doesNotMatch(content, /independent publisher|cookies|Most read/);
      }
    }
  });

  it('is not in a dialog, nor in a main element that holds its title alone', () => {
    const dialog = `<div role="dialog"><p>${SENTENCE} ${SENTENCE}</p></div>`;
    const content = read(
      page(`${dialog}<main><h1>Dredging of the harbour</h1></main><div class="text">${article(1, 4)}</div>`),
    );
    assert.match(content, /Paragraph 3\./);
    assert.doesNotMatch(content, new RegExp(`^${SENTENCE}`));
  });

  it('may be in a dialog that is the whole page', () => {
    const content = read(
      page(`<div role="dialog"><p>To: You</p>${article(1, 3)}</div><nav><a href="/a">About</a></nav>`),
    );
    assert.match(content, /Paragraph 2\./);
  });

  it('has tables that stand directly in a table for layout, as browsers show them', () => {
    const list = '<table><tr><th>Case</th><th>Date</th></tr><tr><td>Doe v. Roe</td><td>Jan. 16</td></tr></table>';
    const content = read(page(`<table><tr><td>${article(1, 3)}</td></tr>${list}<p>Loose.</p></table>`));
    assert.match(content, /Paragraph 2\.[^|]*\n\n\| Case \| Date \|\n.*\n\| Doe v\. Roe \| Jan\. 16 \|\n\nLoose\./s);
  });

  it('has the ingredients, steps, answers and entries that structured data repeats', () => {
    const data = {
      '@graph': [
        {
          '@type': 'Recipe',
          recipeIngredient: ['2 tbsp olive oil', 'Salt', '1 onion, chopped'],
          recipeInstructions: [
            {
              '@type': 'HowToSection',
              name: 'For the soup',
              itemListElement: [{ '@type': 'HowToStep', text: 'Fry it.' }],
            },
            `<p>Let it cool. ${SENTENCE} Then serve it with the bread that you like most.</p>`,
          ],
        },
        {
          '@type': 'FAQPage',
          mainEntity: [
            { '@type': 'Question', name: 'Can I freeze it?', acceptedAnswer: { '@type': 'Answer', text: 'Never.' } },
          ],
        },
        {
          '@type': 'LiveBlogPosting',
          liveBlogUpdate: [{ '@type': 'BlogPosting', headline: 'Doors open', articleBody: 'At nine.' }],
        },
      ],
    };
    const card = `<div class="card"><h4>Ingredients</h4><div><span>2 tbsp</span><p><a href="/oil">olive oil</a></p></div><p>Salt</p>
      <p>1 onion, chopped</p><h4>For the soup</h4><p>1. Fry it.</p><p>Step 2 Then serve it with the bread that you like most.</p></div>
      <div class="faq"><p>Can I freeze it?</p><p>Never.</p></div><div class="live"><h5>Doors open</h5><p>At nine.</p></div>`;
    const buttons = '<div class="bar"><p>Print</p><p><a href="/salt">Salt</a></p></div>';
    const html = page(
      `<div><h1>Dredging of the harbour</h1><div class="story">${article(1, 9)}</div></div><div class="boxes">${card}</div>${buttons}`,
      `<script type="application/ld+json">${JSON.stringify(data)}</script>`,
    );
    const content = read(html);
    for (const line of [
      '2 tbsp',
      'olive oil',
      'Salt',
      '1 onion, chopped',
      'Fry it.',
      'Then serve it',
      'Can I freeze it?',
      'Never.',
      'Doors open',
      'At nine.',
    ])
      assert.ok(content.includes(line), line);
    assert.doesNotMatch(content, /Print|\/salt/);
  });

  it('is taken from structured data if the page has none', () => {
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

  it('is taken from structured data that is escaped once or twice, but not beside the same text on the page', () => {
    const text = `Boats &amp; caf&eacute;s. ${SENTENCE} ${SENTENCE} ${SENTENCE} ${SENTENCE} ${SENTENCE}`;
    const data = (articleBody: string) =>
      `<script type="application/ld+json">${JSON.stringify({ '@type': 'NewsArticle', articleBody })}</script>`;
    for (const body of [text, text.replaceAll('&', '&amp;'), `<p>${text}</p>`, `&lt;p&gt;${text}&lt;/p&gt;`])
      assert.match(read(page('<h1>Dredging of the harbour</h1>', data(body))), /^Boats & cafés\. The harbour/);
    const lines = Array.from({ length: 12 }, (_, at) => `Die F&auml;hren fahren ${at}mal.`);
    const shown = page(
      `<h1>Ferries</h1><p>${lines.join('</p><p>')}</p>`,
      data(lines.join(' ').replaceAll('&', '&amp;')),
    );
    assert.match(read(shown), /^Die Fähren fahren 3mal\.$/m);
  });

  it('is that of the page if structured data repeats it, even with more letters', () => {
    const lines = Array.from({ length: 9 }, (_, at) => `Short note ${at} of the dredging.`);
    const data = JSON.stringify({
      '@type': 'NewsArticle',
      articleBody: `${lines.join(' ')} ${SENTENCE} ${SENTENCE} Share this.`,
    });
    const html = page(
      `<h1>Dredging of the harbour</h1><div><h2>Morning</h2><p>${SENTENCE}</p>${lines.map((line) => `<p>${line}</p>`).join('')}</div>`,
      `<script type="application/ld+json">${data}</script>`,
    );
    const content = read(html);
    assert.match(content, /^## Morning$/m);
    assert.match(content, /^Short note 8 of the dredging\.$/m);
  });

  it('includes the standfirst of an article, which is also its description', () => {
    const standfirst = 'Ferries keep to the northern channel';
    const head = `<meta property="og:type" content="article"><meta name="description" content="${standfirst}">`;
    for (const name of ['p', 'h2', 'div']) {
      const top = `<header><h1>Dredging of the harbour</h1><${name}>${standfirst}</${name}><div>By Ada Marsh</div></header>`;
      const content = read(page(`<article>${top}<div class="text">${article(1, 6)}</div></article>`, head));
      assert.ok(content.includes(standfirst), name);
    }
    const repeated = `<article><header><h1>Dredging of the harbour</h1><p>${standfirst}</p><div>By Ada Marsh</div></header><div><p>${standfirst}</p>${article(1, 6)}</div></article>`;
    assert.equal(read(page(repeated, head)).split(standfirst).length, 2);
  });

  it('has its title above it, whatever heading repeats the title for its comments', () => {
    const content = read(
      page(
        `<div><h2>Exclusive: ferries are back</h2><div>${article(1, 6)}</div></div>
        <div><h1>Share or comment: Dredging of the harbour</h1><a href="/a">Share</a></div>`,
        '<meta property="og:type" content="article">',
      ),
    );
    assert.match(content, /Paragraph 5\./);
    assert.doesNotMatch(content, /Share or comment/);
  });

  it('keeps a heading directly before another one of its level', () => {
    const html = page(
      `<article><h1>Dredging of the harbour</h1><div>${article(1, 4)}<h2>Wednesday</h2><h2>At noon</h2>${article(4, 8)}</div></article>`,
    );
    assert.match(read(html), /^## Wednesday\n\n## At noon$/m);
  });

  it('is kept in elements with class names such as sidebar or nav', () => {
    for (const name of ['o-row c-fixed-sidebar-layout--left', 'has-sidebar', 'l-with-nav', 'no_sidebar']) {
      const html =
        page(`<div class="page"><h1>Dredging of the harbour</h1><div class="${name}"><div>${article(1, 5)}</div></div>
        <div class="teasers">${other('Elsewhere', 5)}</div></div>`);
      assert.match(read(html), /Paragraph 4\./, name);
    }
    // No class name removes prose.
    const html = page(
      `<div><h1>Dredging of the harbour</h1>${article(1, 6)}<div class="sidebar-left"><p>Beside. ${SENTENCE}</p></div></div>`,
    );
    assert.match(read(html), /Beside/);
  });

  it('continues after a list of other stories', () => {
    const html = page(`<article><h1>Dredging of the harbour</h1>${article(1, 6)}<h3>Recommended by our editors</h3>
      <ul><li><a href="/1">A story of something else</a></li><li><a href="/2">Another story of something else</a></li></ul>${article(6, 9)}
      <h3>Read also</h3><p><a href="/3">The story of the quay that was built</a></p></article>`);
    const content = read(html);
    for (const at of [1, 5, 6, 8]) assert.match(content, new RegExp(`Paragraph ${at}\\.`));
  });

  it('keeps the teasers of a page that consists of them', () => {
    const teasers = Array.from(
      { length: 12 },
      (_, at) => `<div class="teaser"><h3>Story ${at}</h3><p>Teaser ${at}. ${SENTENCE}</p></div>`,
    );
    const content = read(page(`<main><h1>News of the coast</h1>${teasers.join('')}</main>`));
    for (const at of [0, 5, 11]) assert.match(content, new RegExp(`Teaser ${at}\\.`));
  });

  it('omits breadcrumbs before it', () => {
    const html = page(`<article><p><a href="/">Home</a> &gt; <a href="/n">News</a></p><h1>Dredging of the harbour</h1>
      <p>By Karin Lund</p><p>12.03.2021, 10:30</p>${article(1, 6)}</article>`);
    const content = read(html);
    assert.match(content, /^# Dredging of the harbour\n/);
    assert.doesNotMatch(content, /Home/);
  });

  it('includes collapsed content between its paragraphs', () => {
    const answer = (at: number) =>
      `<div class="accordion-item"><h3>Question ${at}?</h3><div class="collapse"><p>Answer ${at}. ${SENTENCE}</p></div></div>`;
    const content = read(
      page(`<main><section class="hero"><h1>Dredging of the harbour</h1><div>${article(1, 3)}</div></section>
      <section><div class="c"><h2>Popular</h2><div>${article(3, 4)}</div>${answer(1)}${answer(2)}<div>${article(4, 5)}</div></div></section></main>`),
    );
    for (const piece of ['### Question 1?', 'Answer 1.', '### Question 2?', 'Answer 2.']) {
      assert.ok(content.includes(piece), piece);
    }
  });

  it('omits hidden copies of itself, WordPress comments and ranked headlines, but keeps collapsed answers', () => {
    const copy = `<div style="display:none;" itemscope itemtype="http://schema.org/NewsArticle"><h1 itemprop="name">Dredging of the harbour</h1>
      <div itemprop="description"><p>Copied. ${SENTENCE}</p></div><div itemprop="datePublished">2019-11-19T08:57:40+01:00</div></div>`;
    const comment = (at: number) =>
      `<li class="comment even thread-even depth-1" id="comment-${at}"><article><p>Reply ${at}. ${SENTENCE} ${SENTENCE}</p></article></li>`;
    const ranks = Array.from(
      { length: 9 },
      (_, at) => `<li><span>${at + 1}</span><h5><a href="/${at}">Headline ${at}</a></h5></li>`,
    );
    const content = read(
      page(`<article><h1>Dredging of the harbour</h1>${article(1, 4)}${copy}<h3>Comments</h3><ol>${[1, 2, 3, 4, 5].map(comment).join('')}</ol></article>
      <div><h2>Most read</h2><ul>${ranks.join('')}</ul></div>`),
    );
    assert.match(content, /Paragraph 3\./);
    assert.doesNotMatch(content, /Copied|2019-11-19|Reply|Headline|^\W*\d$/m);
    // A collapsed answer is no copy.
    const hidden = read(
      page(`<main><h1>Dredging of the harbour</h1>${article(1, 3)}<div itemscope itemprop="mainEntity" itemtype="https://schema.org/Question"><h3 itemprop="name">When?</h3>
      <div style="display:none" itemscope itemprop="acceptedAnswer" itemtype="https://schema.org/Answer"><div itemprop="text"><p>In May.</p></div></div></div></main>`),
    );
    assert.match(hidden, /In May\./);
  });

  it('keeps an introduction in a header', () => {
    const html = page(
      `<main><header><h2>Dredging</h2><p>Lead. ${SENTENCE} ${SENTENCE}</p></header>${article(1, 6)}</main>`,
    );
    assert.match(read(html), /Lead\./);
  });

  it('leaves out the readings of ruby annotations', () => {
    const line = '港の浚渫は春に再び行われ、フェリーは六月まで北の水路を通った。'.repeat(4);
    const html = page(
      `<article><h1>港の浚渫</h1><p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>を読む。${line}</p><p>${line}</p></article>`,
    );
    const content = read(html);
    assert.match(content, /漢字を読む。/);
  });

  it('keeps sentences that begin like a call to action, and omits forms', () => {
    const sentences = [
      'Sign up for the newsletter of the harbour by sending its master a letter.',
      'Abonnieren Sie kostenlos ist der Titel des Liedes, das auf den Fähren gesungen wird.',
      'You must be logged in to post a comment, says the manual of the harbour log.',
    ];
    const form =
      '<form action="/join"><p>The best stories in your inbox.</p><input type="email" name="e"><button>Join us</button></form>';
    const html = page(`<article><h1>Dredging of the harbour</h1>${article(1, 3)}
      ${sentences.map((sentence) => `<p>${sentence}</p>`).join('')}${form}${article(3, 6)}</article>`);
    const content = read(html);
    for (const sentence of sentences) assert.ok(content.includes(sentence), sentence);
    assert.doesNotMatch(content, /inbox|Join us/);
    for (const at of [1, 2, 3, 4, 5]) assert.match(content, new RegExp(`Paragraph ${at}\\.`));
  });

  it('keeps prose after a heading, whatever the heading says', () => {
    for (const heading of ['Comments', 'Tags', 'Newsletter', 'Related work', 'Kommentare', 'More on this']) {
      const html = page(`<div class="post"><h1>Dredging of the harbour</h1>${article(1, 8)}<h3>${heading}</h3>
        <p>Behind it. ${SENTENCE} ${SENTENCE}</p></div>`);
      assert.match(read(html), new RegExp(`### ${heading}\\n\\nBehind it\\.`));
    }
  });

  it('ends before links to other articles, but keeps links to its sources', () => {
    const head = '<meta property="og:type" content="article">';
    const links =
      '<p><a href="/1">The story of the quay that was built in May</a></p><p><a href="/2">A ferry that came late again</a></p>';
    const body = (label: string) =>
      `<article><h1>Dredging of the harbour</h1>${article(1, 8)}${label}${links}</article>`;
    assert.doesNotMatch(read(page(body(''), head)), /quay|late again/);
    assert.match(read(page(body('<p>Sources:</p>'), head)), /quay[\s\S]*late again/);
  });

  it('resolves links against the base of the page', () => {
    const head = '<meta name="generator" content="Sphinx"><base href="manual/">';
    assert.match(
      read(page(`${article(1, 4)}<p>See <a href="pumps">pumps</a>.</p>`, head)),
      /\(https:\/\/example\.org\/manual\/pumps\)/,
    );
  });

  it('begins after skip links, also if they are directly in the body', () => {
    const jump =
      '<a class="x" href="#content">Skip to main content</a><span><a href="#nav">Skip to the menu</a></span>';
    for (const before of [jump, `<div>${jump}</div>`, `<p>${jump}</p>`]) {
      const content = read(page(`${before}<div id="content"><h1>Dredging of the harbour</h1>${article(1, 5)}</div>`));
      assert.doesNotMatch(content, /Skip to/);
      assert.match(content, /Paragraph 1\./);
    }
  });

  it('shows a lazy-loaded image once, with its real address', () => {
    const placeholder = 'data:image/svg+xml,%3Csvg%20/%3E';
    const image = (attributes: string) => `<p><img alt="The quay" ${attributes}></p>`;
    const shown = (html: string) =>
      read(page(`<h1>Dredging of the harbour</h1>${article(1, 3)}${html}${article(3, 5)}`));
    const twins = `<img alt="The quay" src="${placeholder}"><noscript><img alt="The quay" src="/quay.jpg"></noscript>`;
    const named = `<img alt="The quay" src="${placeholder}" data-lazy-src="/quay.jpg"><noscript><img alt="The quay" src="/quay.jpg"></noscript>`;
    for (const html of [`<p>${twins}</p>`, `<p>${named}</p>`, image(`src="${placeholder}" data-src="/quay.jpg"`)]) {
      assert.deepEqual(shown(html).match(/.*quay.*/gi), ['![The quay](https://example.org/quay.jpg)']);
    }
  });

  it('ends before a list of headlines that lead elsewhere', () => {
    const headline = (at: number) =>
      `<li><h5><a href="/n${at}">The ${at}th ferry came late again on the eastern line</a></h5></li>`;
    const list = `<div><h2>Most read</h2><ol>${[1, 2, 3, 4, 5, 6].map(headline).join('')}</ol></div>`;
    const content = read(page(`<div><div><h1>Dredging of the harbour</h1>${article(1, 6)}</div>${list}</div>`));
    assert.doesNotMatch(content, /eastern line/);
    assert.match(content, /Paragraph 5\./);
  });

  it('keeps image captions, and prices between a heading and a list', () => {
    const figure =
      '<figure><div><img src="/q.jpg" alt="Quay"></div><figcaption><span>The quay in May.</span></figcaption></figure>';
    const card = (at: number) =>
      `<div class="card"><h3>Plan ${at}</h3><p>$${at}.50 a month</p><ul><li>${SENTENCE}</li><li>${SENTENCE} ${at}</li></ul></div>`;
    const content = read(
      page(
        `<main><h1>Dredging of the harbour</h1>${article(1, 4)}${figure}<div>${card(1)}${card(2)}</div>${article(4, 6)}</main>`,
      ),
    );
    assert.match(content, /The quay in May\./);
    assert.match(content, /### Plan 2\n\n\$2\.50 a month\n\n- The harbour/);
  });

  it('includes all collapsed panels, even if each is in its own box', () => {
    const menu = `<nav class="top"><ul>${[1, 2, 3].map((at) => `<li><a href="/m${at}">Line ${at}</a></li>`).join('')}</ul></nav>`;
    const panel = (at: number) =>
      `<div class="item"><h2 class="head"><button aria-expanded="false" aria-controls="c${at}">Question ${at}</button></h2><div id="c${at}" class="collapse" hidden><div class="body"><table><tr><th>Pier</th><th>Depth</th></tr><tr><td>East ${at}</td><td>${at} m</td></tr></table><p>Answer ${at}. ${SENTENCE.slice(0, 90)}</p></div></div></div>`;
    const tabs = `<ul role="tablist"><li><button role="tab">A</button></li><li><button role="tab">B</button></li></ul><div class="tabs"><div role="tabpanel" class="pane">${article(1, 3)}</div><div role="tabpanel" class="pane"><p>Other.</p></div></div>`;
    const help = `<div class="side"><div class="card"><h5>Need help?</h5><p>Our team answers within a day.</p><a href="/c">Write to us</a></div></div>`;
    const content = read(
      page(
        `${menu}<div class="page"><div class="main"><h1>Dredging of the harbour</h1><p>${SENTENCE}</p>${tabs}<div class="list">${[1, 2, 3, 4, 5, 6, 7, 8].map(panel).join('')}</div></div>${help}</div><footer><p>Made in a shed by the sea.</p></footer>`,
      ),
    );
    for (let at = 1; at < 9; at++) assert.match(content, new RegExp(`East ${at} \\| ${at} m \\|\n\nAnswer ${at}`));
    assert.doesNotMatch(content, /Need help|Write to us|shed/);
  });

  it('includes product facts after the text, but no other products', () => {
    const facts = ['Weight', 'Width', 'Depth'].map((name, at) => `<div><dt>${name}</dt><dd>${at} cm</dd></div>`);
    const others = [1, 2, 3, 4].map((at) => `<li><h3><a href="/o${at}">Other ${at}</a></h3><div>$${at}.00</div></li>`);
    const content = read(
      page(`<main><div class="product"><div class="info"><h1>Dredging of the harbour</h1>
      <form><input type="hidden"><button>Add</button></form><div class="rte">${article(1, 2)}</div>
      <div class="more"><details><summary>Care</summary><div><p>${SENTENCE}</p></div></details></div>
      <div class="specs"><dl>${facts.join('')}</dl></div></div></div><section><h2>More</h2><ul>${others.join('')}</ul></section></main>`),
    );
    assert.match(content, /\*\*Depth\*\*\n2 cm/);
    assert.doesNotMatch(content, /Other 1/);
  });

  it('includes forum replies in boxes like that of the first post', () => {
    const post = (at: number, text: string) =>
      `<div class="post"><div class="inner"><dl class="who"><dt><a href="/u${at}">User ${at}</a></dt><dd>Site Admin</dd><dd>Posts: 513</dd></dl>
      <div class="body"><div><h3><a href="#p${at}">Re: Dredging of the harbour</a></h3><p class="by"><a href="/p${at}">by User ${at}</a></p>
      <div class="content">${text}</div><div class="sig">We sell kettles, and ask nobody.</div></div></div></div></div>`;
    const reply = `<blockquote><div>User 1 wrote: ${SENTENCE}</div></blockquote>Reply two. ${SENTENCE}`;
    const content = read(
      page(
        `<div id="wrap"><h2><a href="/t">Dredging of the harbour</a></h2>${post(1, article(1, 9))}${post(2, reply)}</div>`,
      ),
    );
    assert.match(content, /> User 1 wrote: .*\n\nReply two\./);
    assert.doesNotMatch(content, /kettles/);
  });

  it('keeps a caption under its last heading', () => {
    const head =
      '<title>Harvest factory compares layer letter</title><script type="application/ld+json">{"@type":"Article","headline":"Harvest factory compares layer letter","author":{"name":"Ann Lee"}}</script>';
    const content =
      read(`<html lang="en"><head>${head}</head><body><div><div><div><div><div><article><div><div><h2>Promo codes</h2>
      <h2>External links</h2>
      <p>Sentence current measures island composer voltage describes 9093. Value garden limits letter harbour matrix follows 8558.</p>
      <p>Teacher council</p>
      <h2>Contact</h2>
      <div><figure><figcaption>Module value compares answer number marble 1351.</figcaption></figure></div></div></div></article></div></div></div></div></div></body></html>`);
    assert.match(content, /## Contact\n\nModule value/);
  });

  it('keeps a lead between title and author', () => {
    const content =
      read(`<html lang="en"><head><title>System council follows circuit nitrogen 3476 | Acme</title><meta name="dcterms.issued" content="2020-01-15"></head><body class="govuk"><div><div><p>We use some essential cookies to make this website work. We would like to set additional cookies.</p></div></div><header><a>ACME.GOV</a></header><main><div><div><div><h1>System council follows</h1></div><p class="lead">Meadow factory predicts kernel desert copper observes mountain doctor captain describes 4196.</p></div><div><dl><dd><a>Ministry of Kettles</a></dd><dd>2025-02-21 — <a>See all updates</a></dd></dl></div></div><div><div>
<p>Kitchen harvest follows vector worker bridge 9606. Symphony nitrogen supports version garden doctor replaces buffer method border supports surface summer lantern follows 5701. Timber reader explains reader harvest module collects tensor canvas symphony collects station budget 7302.</p>
<p>Thread ocean supports minister crystal captain follows teacher island desert observes carbon circuit mineral reaches 7077.</p>
<p>Garden circuit divides contract marble desert controls mountain station copper controls packet voltage value 563. Method council changes letter mountain branch compares thread composer author explains protein 4778. Engine surface repairs treaty oxygen harbour describes factory kitchen doctor 8238. Packet harvest extends minister symphony language explains pressure worker signal supports 585.</p>
<div><p>Treaty circuit controls layer border contract divides vector version voltage measures protein 6232.</p></div>
</div></div></main></body></html>`);
    assert.match(content, /^(?:#.*\n\n)?Meadow factory/);
    assert.doesNotMatch(content, /cookies/);
  });

  it('omits noscript notes unless they are the only text', () => {
    const note = (text: string) => `<noscript>${text}</noscript>`;
    const content = read(
      page(`<main><article><h1>Dredging of the harbour</h1><div class="body">${article(1, 4)}</div>
      <div id="thread"></div>${note('Please enable JavaScript to view the <a href="/d">comments of this page.</a>')}<a href="/p" hidden></a></article></main>`),
    );
    assert.doesNotMatch(content, /enable JavaScript/);
    assert.match(
      read(page(`<div id="app"></div>${note(`<h1>Dredging of the harbour</h1>${article(1, 3)}`)}`)),
      /Paragraph 2\./,
    );
  });

  it('names the authors of comments on an answer', () => {
    const comment =
      '<li><div class="comment-body"><span class="comment-copy">It works with two pumps, too.</span> – <a href="/users/7" class="comment-user">Hanae</a></div></li>';
    const content = read(
      page(
        `<h1>Dredging of the harbour</h1><div class="s-prose" itemprop="text">${article(1, 3)}</div><div><ul>${comment}</ul></div>`,
      ),
    );
    assert.match(content, /It works with two pumps, too\. – \[Hanae\]/);
  });
});
