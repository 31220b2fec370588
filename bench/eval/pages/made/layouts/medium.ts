import type { Layout } from '../layout.ts';
import { document, escapeHtml, jsonLd, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

/** Classes of such pages say nothing. */
const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, title, id }) =>
    `<h${level - 1} id="${id.slice(0, 4)}" class="oc od ga bf oe of og oh gv oi oj ok">${escapeHtml(title)}</h${level - 1}>`,
  paragraph: (html) => `<p id="3f2a" class="pw-post-body-paragraph mz na ga nb b gt nc nd gw ne nf">${html}</p>`,
  code: ({ lines }) =>
    `<pre class="np nq nr ns nt ox oy oz bp pa bb bk"><span id="9b1c" class="pb od ga oy b bg pc pd l pe pf" data-selectable-paragraph="">${lines.map(escapeHtml).join('<br>')}</span></pre>`,
  list: ({ ordered, items }) =>
    `<${ordered ? 'ol' : 'ul'} class="">${items.map((item) => `<li id="a1b2" class="mz na ga nb b gt nc pk pl pm bk">${escapeHtml(item)}</li>`).join('')}</${ordered ? 'ol' : 'ul'}>`,
  figure: ({ alt, caption }) =>
    `<figure class="np nq nr ns nt nu nm nn paragraph-image"><div role="button" tabindex="0" class="nv nw eg nx bi ny"><span class="speechify-ignore aq">Press enter or click to view image in full size</span><div class="nm nn pq"><picture><source srcset="https://miro.example.com/${alt}.png 640w" sizes="100vw"><img alt="${alt}" class="bi nz oa c" width="700" height="394" src="https://miro.example.com/${alt}.png" loading="eager"></picture></div></div><figcaption class="ob ff oc nm nn od oe bf b bg z dy" data-selectable-paragraph="">${escapeHtml(caption)}</figcaption></figure>`,
  note: ({ text }) =>
    `<blockquote class="ol om on"><p id="77aa" class="mz na oo nb b gt" data-selectable-paragraph="">${escapeHtml(text)}</p></blockquote>`,
};

export const MEDIUM: Layout = {
  name: 'medium-like',
  url: 'https://stories.example.com/@someone/story-3f2a9b1c',
  kinds: ['code', 'list', 'note', 'figure'],
  publish({ title, sections, lead, published, updated, author, language }, { clutter }) {
    const card = (text: string) =>
      `<div class="ab cm"><div class="tc td bi"><article class="fj fk te" data-testid="post-preview"><div class="tf l"><a href="/p/x" rel="noopener follow"><h2 class="bf ga tg hu th">${text}</h2><div class="ti l"><h3 class="bf b gt z dy">An illustrated guide by a staff writer</h3></div></a><span>Jan 3, 2024</span><button aria-label="responses">11</button></div></article></div></div>`;
    const body = `<div id="root"><div class="a b c"><div class="d e f g h i j k" id="top-nav"><a class="ag ah" href="/" aria-label="Homepage">${clutter.menu[0]}</a><a href="/new-story">Write</a><p class="bf b dw"><span><a class="bf b" href="/m/signin">Sign up</a></span></p><a href="/m/signin">Sign in</a></div>
<div class="l"><article class="meteredContent"><section><div class="gl gm gn go gp ab cm"><div class="ab cb"><div class="ci bh fz ga gb gc"><h1 id="5c01" class="pw-post-title gt gu gv bf gw gx" data-testid="storyTitle">${escapeHtml(title)}</h1>
<div class="hq hr hs"><div class="ab"><a href="/@x" rel="noopener follow"><img alt="${author}" src="https://miro.example.com/face.png" width="32" height="32" data-testid="authorPhoto"></a><a class="ag ah bf b" data-testid="authorName" href="/@x">${author}</a><button class="bf b">Follow</button><span class="bf b bg z dy">7 min read</span><span data-testid="storyPublishDate">${new Date(published).toLocaleDateString('en-US', { timeZone: 'UTC', month: 'short', day: 'numeric', year: 'numeric' })}</span></div></div><div class="ab co"><button data-testid="headerClapButton">Clap</button><p class="bf b">1.4K</p><button aria-label="responses">23</button><button>Listen</button><button>Share</button></div>
${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}</div></div></div></section></article>
<div class="ab cb"><div class="rk l">${clutter.menu
      .slice(1, 4)
      .map((tag) => `<a class="rl ax" href="/tag/x"><div class="rm ee cx">${tag}</div></a>`)
      .join(
        '',
      )}</div></div><div class="ab cb"><h2 class="bf">Written by ${author}</h2><p class="bf b bg z bk">812 followers</p><button>Follow</button></div>
<div class="ab cb"><h2 class="bf ga">Responses (23)</h2><button>See all responses</button></div><div class="ab cb"><h2 class="bf ga">More from ${author} and the desk</h2>${clutter.teasers.slice(0, 2).map(card).join('')}</div><div class="ab cb"><h2 class="bf ga">Recommended from the desk</h2>${clutter.teasers.slice(2).map(card).join('')}</div>
<div class="ab cb"><h2>${clutter.promo}</h2><p class="bf b">${clutter.newsletter}</p><form><input type="email" placeholder="Your email"><button>Subscribe</button></form></div><div class="sw l"><a href="/about">About</a><a href="/terms">Terms</a><p class="bf b">${clutter.footer}</p></div></div></div></div>`;
    const data = jsonLd({
      '@type': 'NewsArticle',
      headline: title,
      author: { '@type': 'Person', name: author },
      datePublished: `${published}T14:00:00.000Z`,
      dateModified: `${updated}T14:00:00.000Z`,
    });
    const head = `<title>${escapeHtml(title)} | by ${author} | Stories</title><meta property="article:published_time" content="${published}T14:00:00.000Z"><meta name="author" content="${author}">${data}`;
    return { html: document(language, head, body), dates: [published, updated], authors: [author] };
  },
};
