import type { Layout } from '../layout.ts';
import {
  document,
  escapeHtml,
  highlighted,
  links,
  longDate,
  type Markup,
  PLAIN,
  writeBlocks,
  writeSections,
} from '../markup.ts';

const spans = (lines: readonly string[]) =>
  lines
    .map(
      (line, at) =>
        `<span id="__span-0-${at + 1}"><a id="__codelineno-0-${at + 1}" name="__codelineno-0-${at + 1}" href="#__codelineno-0-${at + 1}"></a>${highlighted(line, () => '<span class="nt">')}\n</span>`,
    )
    .join('');

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<h${level} id="${id}">${escapeHtml(title)}<a class="headerlink" href="#${id}" title="Permanent link">&para;</a></h${level}>\n`,
  code({ language, lines }) {
    if (language !== 'python')
      return `<div class="language-${language} highlight"><pre><span></span><code>${spans(lines)}</code></pre></div>\n`;
    const numbers = lines.map((_line, at) => `<span class="normal">${at + 1}</span>`).join('\n');
    return `<div class="language-python highlight"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre><span></span>${numbers}</pre></div></td><td class="code"><div><pre><span></span><code>${spans(lines)}</code></pre></div></td></tr></table></div>\n`;
  },
  table: (block) =>
    `<div class="md-typeset__scrollwrap"><div class="md-typeset__table">${PLAIN.table(block)}</div></div>\n`,
  note: ({ text }) =>
    `<div class="admonition info">\n<p class="admonition-title">Info</p>\n<p>${escapeHtml(text)}</p>\n</div>\n`,
  question: ({ question, answer }) =>
    `<details class="question">\n<summary>${escapeHtml(question)}</summary>\n<p>${escapeHtml(answer)}</p>\n</details>\n`,
  figure: ({ alt, caption }) =>
    `<figure>\n<p><img alt="${alt}" src="../assets/${alt}.png" /></p>\n<figcaption>\n<p>${escapeHtml(caption)}</p>\n</figcaption>\n</figure>\n`,
  panels({ panels }, write) {
    const inputs = panels.map(
      (_panel, at) =>
        `<input ${at === 0 ? 'checked="checked" ' : ''}id="__tabbed_1_${at + 1}" name="__tabbed_1" type="radio" />`,
    );
    const labels = panels.map(({ label }, at) => `<label for="__tabbed_1_${at + 1}">${label}</label>`);
    const shown = panels.map(({ blocks }) => `<div class="tabbed-block">\n${write(blocks)}</div>\n`);
    return `<div class="tabbed-set tabbed-alternate" data-tabs="1:${panels.length}">${inputs.join('')}<div class="tabbed-labels">${labels.join('')}</div>\n<div class="tabbed-content">\n${shown.join('')}</div>\n</div>\n`;
  },
};

export const MKDOCS: Layout = {
  name: 'mkdocs-material',
  url: 'https://tool.example.dev/reference/page/',
  kinds: ['code', 'code', 'table', 'list', 'note', 'question', 'panels', 'figure'],
  publish({ title, sections, lead, updated, language }, { clutter }) {
    const item = (html: string) => `<li class="md-nav__item">${html.replace('<a ', '<a class="md-nav__link" ')}</li>`;
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li class="md-nav__item"><a href="#${id}" class="md-nav__link"><span class="md-ellipsis">${escapeHtml(text)}</span></a></li>`,
    );
    const body = `<input class="md-toggle" data-md-toggle="drawer" type="checkbox" id="__drawer"><div data-md-component="skip"><a href="#page" class="md-skip">Skip to content</a></div>
<header class="md-header" data-md-component="header"><nav class="md-header__inner md-grid" aria-label="Header"><a href="../.." title="Tool" class="md-header__button md-logo"></a><div class="md-header__title"><span class="md-ellipsis">${escapeHtml(title)}</span></div></nav><nav class="md-tabs" aria-label="Tabs"><ul class="md-tabs__list">${links(clutter.menu.slice(0, 4), item)}</ul></nav></header>
<div class="md-container"><main class="md-main"><div class="md-main__inner md-grid"><div class="md-sidebar md-sidebar--primary"><nav class="md-nav md-nav--primary" aria-label="Navigation"><ul class="md-nav__list">${links(clutter.teasers, item)}</ul></nav></div>
<div class="md-sidebar md-sidebar--secondary"><nav class="md-nav md-nav--secondary" aria-label="Table of contents"><label class="md-nav__title">Table of contents</label><ul class="md-nav__list">${toc.join('')}</ul></nav></div>
<div class="md-content" data-md-component="content"><article class="md-content__inner md-typeset"><a href="https://github.com/x/y/edit/a.md" title="Edit this page" class="md-content__button md-icon"><svg></svg></a>
<h1 id="page">${escapeHtml(title)}<a class="headerlink" href="#page" title="Permanent link">&para;</a></h1>\n${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}
<aside class="md-source-file"><span class="md-source-file__fact"><span class="md-icon" title="Last update"><svg></svg></span><span class="git-revision-date-localized-plugin git-revision-date-localized-plugin-date" title="${longDate(updated)} 10:00:00 UTC">${longDate(updated)}</span></span></aside>
<form class="md-feedback" name="feedback" hidden><fieldset><legend class="md-feedback__title">Was this page helpful?</legend><div class="md-feedback__inner"><button type="submit">yes</button></div></fieldset></form></article></div></div></main>
<footer class="md-footer"><nav class="md-footer__inner md-grid" aria-label="Footer"><a href="../next/" class="md-footer__link md-footer__link--next" rel="next"><div class="md-footer__title"><span class="md-footer__direction">Next</span><div class="md-ellipsis">${clutter.promo}</div></div></a></nav><div class="md-footer-meta md-typeset"><div class="md-copyright"><div class="md-copyright__highlight">${clutter.footer}</div>Made with <a href="https://squidfunk.github.io/mkdocs-material/">Material for MkDocs</a></div></div></footer></div>
<div class="md-consent" data-md-component="consent" id="__consent" hidden><div class="md-consent__overlay"></div><aside class="md-consent__inner"><form class="md-consent__form md-grid md-typeset" name="consent"><h4>Cookie consent</h4><p>${clutter.cookies}</p><button class="md-button md-button--primary">Accept</button></form></aside></div>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} - Tool</title><meta name="generator" content="mkdocs-1.6.1, mkdocs-material-9.5.39">`,
        body,
      ),
      dates: [updated],
    };
  },
};
