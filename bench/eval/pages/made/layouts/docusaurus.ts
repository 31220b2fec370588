import type { Layout } from '../layout.ts';
import {
  document,
  escapeHtml,
  highlighted,
  links,
  type Markup,
  PLAIN,
  wrap,
  writeBlocks,
  writeSections,
} from '../markup.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<h${level} class="anchor anchorTargetStickyNavbar_Vzrq" id="${id}">${escapeHtml(title)}<a href="#${id}" class="hash-link" aria-label="Direct link to ${escapeHtml(title)}" title="Direct link to ${escapeHtml(title)}" translate="no">\u200B</a></h${level}>\n`,
  code({ language, lines }) {
    const shown = lines.map(
      (line) =>
        `<span class="token-line" style="color:#393A34">${line === '' ? '<span class="token plain" style="display:inline-block"></span>' : highlighted(line, () => '<span class="token plain">')}<br></span>`,
    );
    return `<div class="language-${language} codeBlockContainer_Ckt0 theme-code-block" style="--prism-color:#393A34"><div class="codeBlockContent_QJqH"><pre tabindex="0" class="prism-code language-${language} codeBlock_bY9V thin-scrollbar"><code class="codeBlockLines_e6Vv">${shown.join('')}</code></pre><div class="buttonGroup_M5ko"><button type="button" aria-label="Copy code to clipboard" title="Copy" class="clean-btn"><span class="copyButtonIcons_IEyt" aria-hidden="true"><svg viewBox="0 0 24 24"></svg></span></button></div></div></div>\n`;
  },
  note: ({ text }) =>
    `<div class="theme-admonition theme-admonition-tip admonition_xJq3 alert alert--success"><div class="admonitionHeading_Gvgb"><span class="admonitionIcon_Rf37"><svg viewBox="0 0 12 16"></svg></span>tip</div><div class="admonitionContent_BuS1"><p>${escapeHtml(text)}</p></div></div>\n`,
  question: ({ question, answer }) =>
    `<details class="details_lb9f alert alert--info details_b_Ee" data-collapsed="true"><summary>${escapeHtml(question)}</summary><div><div class="collapsibleContent_i85q"><p>${escapeHtml(answer)}</p></div></div></details>\n`,
  panels({ panels }, write) {
    const tabs = panels.map(
      ({ label }, at) =>
        `<li role="tab" tabindex="${at === 0 ? 0 : -1}" aria-selected="${at === 0}" class="tabs__item tabItem_LNqP">${label}</li>`,
    );
    const shown = panels.map(
      ({ blocks }, at) =>
        `<div role="tabpanel" class="tabItem_Ymn6"${at === 0 ? '' : ' hidden=""'}>${write(blocks)}</div>`,
    );
    return `<div class="tabs-container tabList__CuJ"><ul role="tablist" aria-orientation="horizontal" class="tabs">${tabs.join('')}</ul><div class="margin-top--md">${shown.join('')}</div></div>\n`;
  },
};

export const DOCUSAURUS: Layout = {
  name: 'docusaurus',
  url: 'https://docs.example.com/guides/page',
  kinds: ['code', 'code', 'table', 'list', 'note', 'question', 'panels', 'figure'],
  publish(article, { clutter }) {
    const { title, sections, lead, updated, language } = article;
    const item = (html: string) => `<li class="theme-doc-sidebar-item-link menu__list-item">${html}</li>`;
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li><a href="#${id}" class="table-of-contents__link toc-highlight">${escapeHtml(text)}</a></li>`,
    );
    const body = `<div id="__docusaurus"><div role="region" aria-label="Skip to main content"><a class="skipToContent_fXgn" href="#__docusaurus_skipToContent_fallback">Skip to main content</a></div>
<nav aria-label="Main" class="navbar navbar--fixed-top"><div class="navbar__inner"><div class="navbar__items">${links(clutter.menu.slice(0, 3), (html) => html)}</div></div></nav>
<div class="main-wrapper"><div class="docsWrapper_hBAB"><aside class="theme-doc-sidebar-container docSidebarContainer_YfHR"><nav aria-label="Docs sidebar" class="menu thin-scrollbar"><ul class="theme-doc-sidebar-menu menu__list">${links(clutter.teasers, item)}</ul></nav></aside>
<main class="docMainContainer_TBSr"><div class="container padding-top--md"><div class="row"><div class="col docItemCol_VOVn"><div class="docItemContainer_Djhp"><article><nav class="theme-doc-breadcrumbs" aria-label="Breadcrumbs"><ul class="breadcrumbs"><li class="breadcrumbs__item"><a class="breadcrumbs__link" href="/">${clutter.menu[3]}</a></li></ul></nav>
<div class="theme-doc-markdown markdown"><header><h1>${escapeHtml(title)}</h1></header>${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}</div>
<footer class="theme-doc-footer docusaurus-mt-lg"><div class="row margin-top--sm theme-doc-footer-edit-meta-row"><div class="col"><a href="https://github.com/x/y/edit/main/a.md" class="theme-edit-this-page">Edit this page</a></div><div class="col lastUpdated_JAkA"><span class="theme-last-updated">Last updated on <b><time datetime="${updated}T10:12:00.000Z" itemprop="dateModified">${updated}</time></b></span></div></div></footer></article>
<nav class="docusaurus-mt-lg pagination-nav" aria-label="Docs pages"><a class="pagination-nav__link pagination-nav__link--next" href="/next"><div class="pagination-nav__sublabel">Next</div><div class="pagination-nav__label">${clutter.promo}</div></a></nav></div></div>
<div class="col col--3"><div class="tableOfContents_bqdL thin-scrollbar theme-doc-toc-desktop"><ul class="table-of-contents table-of-contents__left-border">${toc.join('')}</ul></div></div></div></div></main></div></div>
<footer class="theme-layout-footer footer footer--dark"><div class="container container-fluid">${wrap('div', clutter.footer, 'class="footer__copyright"')}</div></footer></div>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} | Docs</title><meta name="generator" content="Docusaurus v3.5.2">`,
        body,
      ),
      dates: [updated],
    };
  },
};
