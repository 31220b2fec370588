import type { Layout } from '../layout.ts';
import {
  document,
  escapeHtml,
  jsonLd,
  links,
  longDate,
  type Markup,
  PLAIN,
  writeBlocks,
  writeSections,
} from '../markup.ts';
import { sentence } from '../write-article.ts';

const MARKUP: Markup = {
  ...PLAIN,
  section: ({ id }, inner) =>
    `<div class="article-body__section section-${id}" data-component="text-block">${inner}</div>\n`,
  heading: ({ level, title }) => `<h${level} class="article__subhead">${escapeHtml(title)}</h${level}>\n`,
  paragraph: (html) => `<p class="article__paragraph paragraph">${html}</p>\n`,
  figure: ({ alt, caption }) =>
    `<figure class="article__media media--image"><div class="media__wrapper"><img src="https://img.example.com/${alt}.jpg" alt="${alt}" loading="lazy"></div><figcaption class="media__caption"><span class="caption__text">${escapeHtml(caption)}</span></figcaption></figure>\n`,
  note: ({ text }) => `<blockquote class="pullquote"><p>${escapeHtml(text)}</p></blockquote>\n`,
  question: ({ question, answer }) =>
    `<div class="explainer"><strong>${escapeHtml(question)}</strong><p>${escapeHtml(answer)}</p></div>\n`,
};

export const NEWS: Layout = {
  name: 'news',
  url: 'https://www.daily.example.com/2021/may/03/story',
  kinds: ['table', 'list', 'note', 'figure', 'figure', 'question'],
  publish({ title, sections, lead, published, updated, author, language }, { clutter, random }) {
    const figures = [sentence(random, language), sentence(random, language)];
    const [first = '', second = '', third = '', ...others] = clutter.teasers;
    const half = Math.ceil(sections.length / 2);
    const share = ['facebook', 'x', 'whatsapp'].map(
      (site) =>
        `<li><a class="share-tools__link" href="https://${site}.example.com/share" aria-label="Share on ${site}"><svg></svg></a></li>`,
    );
    const body = `<div id="consent" class="consent-banner" role="dialog"><p>${clutter.cookies}</p><button>Accept all</button></div><header class="site-header"><nav class="nav-primary"><ul>${links(clutter.menu.slice(0, 5))}</ul></nav><a class="btn" href="/subscribe">Subscribe</a></header>
<main id="maincontent"><article class="article" itemscope itemtype="https://schema.org/NewsArticle"><header class="article__header"><p class="kicker"><a href="/x">${clutter.menu[5]}</a></p><h1 class="article__headline" itemprop="headline">${escapeHtml(title)}</h1><div class="byline"><span class="byline__name">By <a href="/profile/x" rel="author">${author}</a></span><div class="timestamp">Updated <time datetime="${updated}T17:00:00Z">${longDate(updated)}</time></div></div><ul class="share-tools">${share.join('')}</ul></header>
<div class="article__content">${writeBlocks(lead, MARKUP)}<aside class="factbox key-figures" role="complementary"><h3 class="factbox__title">Key figures</h3><ul>${figures.map((text) => `<li>${escapeHtml(text)}</li>`).join('')}</ul></aside>${writeSections(sections.slice(0, half), MARKUP)}
<p class="article__paragraph"><strong>Read more: </strong><a href="/story/1">${first}</a></p><div class="newsletter-signup inline-promo"><h3>${clutter.promo}</h3><p>${clutter.newsletter}</p><form action="/newsletter"><input type="email" placeholder="Email address"><button>Sign up</button></form></div>
${writeSections(sections.slice(half), MARKUP)}<div class="related-inline"><h3>Related stories</h3><ul>${links([second, third])}</ul></div></div>
<footer class="article__footer"><ul class="topics">${links(clutter.menu.slice(6))}</ul></footer></article>
<section class="most-read"><h2>Most read</h2><ol>${links(others, (html) => `<li class="most-read__item"><h3>${html}</h3></li>`)}</ol></section></main><footer class="site-footer"><small>${clutter.footer}</small></footer>`;
    const data = jsonLd({
      '@type': 'NewsArticle',
      headline: title,
      datePublished: `${published}T06:00:00Z`,
      dateModified: `${updated}T17:00:00Z`,
      author: [{ '@type': 'Person', name: author }],
    });
    const head = `<title>${escapeHtml(title)} | The Daily</title><meta property="og:type" content="article"><meta property="article:published_time" content="${published}T06:00:00Z"><meta property="article:modified_time" content="${updated}T17:00:00Z">${data}`;
    return {
      html: document(language, head, body),
      dates: [published, updated],
      authors: [author],
      headings: [],
      items: figures,
    };
  },
};
