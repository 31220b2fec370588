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

const MARKUP: Markup = {
  ...PLAIN,
  code: (block) => `<figure class="kg-card kg-code-card">${PLAIN.code(block)}</figure>`,
  figure: ({ alt, caption }) =>
    `<figure class="kg-card kg-image-card kg-card-hascaption"><img src="https://storage.example.com/${alt}.png" class="kg-image" alt="${alt}" loading="lazy" width="2000" height="1125"><figcaption><span style="white-space: pre-wrap;">${escapeHtml(caption)}</span></figcaption></figure>`,
  note: ({ text }) =>
    `<div class="kg-card kg-callout-card kg-callout-card-blue"><div class="kg-callout-emoji">💡</div><div class="kg-callout-text">${escapeHtml(text)}</div></div>`,
  question: ({ question, answer }) =>
    `<div class="kg-card kg-toggle-card" data-kg-toggle-state="close"><div class="kg-toggle-heading"><h4 class="kg-toggle-heading-text"><span style="white-space: pre-wrap;">${escapeHtml(question)}</span></h4><button class="kg-toggle-card-icon" aria-label="Expand toggle to read content"><svg viewBox="0 0 24 24"></svg></button></div><div class="kg-toggle-content"><p>${escapeHtml(answer)}</p></div></div>`,
};

export const GHOST: Layout = {
  name: 'ghost',
  url: 'https://letters.example.net/post/',
  kinds: ['code', 'table', 'list', 'note', 'question', 'figure'],
  publish({ title, sections, lead, published, updated, author, language }, { clutter }) {
    const card = (html: string) =>
      `<article class="gh-card post"><div class="gh-card-wrapper"><h3 class="gh-card-title is-title">${html}</h3><footer class="gh-card-meta"><time class="gh-card-date" datetime="2024-01-02">02 Jan 2024</time></footer></div></article>`;
    const body = `<div class="gh-viewport"><header id="gh-navigation" class="gh-navigation is-left-logo gh-outer"><div class="gh-navigation-inner gh-inner"><nav class="gh-navigation-menu"><ul class="nav">${links(clutter.menu.slice(0, 5))}</ul></nav><div class="gh-navigation-members"><a href="#/portal/signin" data-portal="signin">Sign in</a><a class="gh-button" href="#/portal/signup" data-portal="signup">Subscribe</a></div></div></header>
<main class="gh-main"><article class="gh-article post tag-share featured"><header class="gh-article-header gh-canvas"><a class="gh-article-tag" href="/tag/x/">${clutter.menu[5]}</a><h1 class="gh-article-title is-title">${escapeHtml(title)}</h1><div class="gh-article-meta"><div class="gh-article-meta-wrapper"><h4 class="gh-article-author-name"><a href="/author/x/">${author}</a></h4><div class="gh-article-meta-content"><time class="gh-article-meta-date" datetime="${published}">${longDate(published)}</time><span class="gh-article-meta-length"><span class="bull">—</span> 6 min read</span></div></div></div></header>
<section class="gh-content gh-canvas is-body drop-cap">${writeBlocks(lead, MARKUP)}<div class="kg-card kg-signup-card" data-lexical-signup-form><div class="kg-signup-card-text"><h2 class="kg-signup-card-heading">${clutter.promo}</h2><p class="kg-signup-card-subheading">${clutter.newsletter}</p><form class="kg-signup-card-form" data-members-form="signup"><input class="kg-signup-card-input" type="email"><button type="submit">Subscribe</button></form></div></div>${writeSections(sections, MARKUP)}</section></article></main>
<section class="gh-container is-grid gh-outer"><div class="gh-container-inner gh-inner"><h2 class="gh-container-title">Read more</h2><div class="gh-feed">${links(clutter.teasers, card)}</div></div></section>
<footer class="gh-footer gh-outer"><div class="gh-footer-inner gh-inner"><div class="gh-footer-copyright">${clutter.footer}</div><div>Powered by <a href="https://ghost.org/">Ghost</a></div></div></footer></div>`;
    const data = jsonLd({
      '@type': 'Article',
      headline: title,
      author: { '@type': 'Person', name: author },
      datePublished: `${published}T09:00:00.000Z`,
      dateModified: `${updated}T09:00:00.000Z`,
    });
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)}</title><meta name="generator" content="Ghost 5.96">${data}`,
        body,
      ),
      dates: [published, updated],
      authors: [author],
    };
  },
};
