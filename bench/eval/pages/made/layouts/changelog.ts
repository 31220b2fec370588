import type { Section } from '../article.ts';
import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, longDate, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<h${level} id="${id}"><a href="#${id}" class="header-anchor" aria-hidden="true" tabindex="-1">#</a> ${escapeHtml(title)}</h${level}>\n`,
  code: ({ language, lines }) =>
    `<div class="language-${language} vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">${language}</span><pre class="shiki shiki-themes github-light vp-code" tabindex="0"><code>${lines.map((line) => `<span class="line"><span style="--shiki-light:#6F42C1;">${escapeHtml(line)}</span></span>`).join('\n')}</code></pre></div>\n`,
  note: ({ text }) =>
    `<div class="warning custom-block"><p class="custom-block-title">WARNING</p><p>${escapeHtml(text)}</p></div>\n`,
  panels({ panels }, write) {
    const inputs = panels.map(
      ({ label }, at) =>
        `<input type="radio" name="group-1" id="tab-${at}"${at === 0 ? ' checked' : ''}><label data-title="${label}" for="tab-${at}">${label}</label>`,
    );
    const blocks = panels.map(
      (panel, at) => `<div class="block${at === 0 ? ' active' : ''}">${write(panel.blocks)}</div>`,
    );
    return `<div class="vp-code-group vp-adaptive-theme"><div class="tabs">${inputs.join('')}</div><div class="blocks">${blocks.join('')}</div></div>\n`;
  },
};

/** Notes of releases, a chapter each, with what was changed below: as VitePress shows a `CHANGELOG.md`. */
export const CHANGELOG: Layout = {
  name: 'changelog',
  url: 'https://project.example.dev/changelog',
  kinds: ['list', 'list', 'list', 'code', 'note', 'panels'],
  publish({ title, sections, lead, updated, language }, { clutter, random }) {
    const item = (html: string) => `<div class="VPSidebarItem level-1 is-link">${html}</div>`;
    const half = Math.ceil(sections.length / 2);
    const major = random.integer(2, 30);
    const releases = [sections.slice(0, half), sections.slice(half)].map(
      (children, at): Section => ({
        title: `${major - at}.${random.integer(0, 20)}.0 (${updated})`,
        id: `v${major - at}`,
        level: 2,
        blocks: [],
        children: children.map(deeper),
      }),
    );
    const body = `<div id="app"><div class="Layout"><span tabindex="-1"></span><a href="#VPContent" class="VPSkipLink visually-hidden">Skip to content</a><header class="VPNav"><nav aria-labelledby="main-nav-aria-label" class="VPNavBarMenu menu">${links(clutter.menu.slice(0, 5), (html) => html)}</nav></header>
<aside class="VPSidebar"><nav class="nav" id="VPSidebarNav">${links(clutter.teasers, item)}</nav></aside><div class="VPContent has-sidebar" id="VPContent"><div class="VPDoc has-sidebar has-aside"><div class="container"><div class="aside"><nav class="VPDocAsideOutline"><div class="outline-title" role="heading">On this page</div><ul class="VPDocOutlineItem root">${releases.map(({ id, title: text }) => `<li><a class="outline-link" href="#${id}">${text}</a></li>`).join('')}</ul></nav></div>
<div class="content"><div class="content-container"><main class="main"><div class="vp-doc _changelog"><div><h1 id="top" tabindex="-1">${escapeHtml(title)} <a class="header-anchor" href="#top" aria-label="Permalink to the title">\u200B</a></h1>${writeBlocks(lead, MARKUP)}${writeSections(releases, MARKUP)}</div></div></main>
<footer class="VPDocFooter"><div class="edit-info"><div class="edit-link"><a class="edit-link-button" href="https://github.com/x">Edit this page on GitHub</a></div><div class="last-updated"><p class="VPLastUpdated">Last updated: <time datetime="${updated}T10:00:00.000Z">${longDate(updated)}</time></p></div></div><nav class="prev-next"><a class="pager-link next" href="/next"><span class="desc">Next page</span><span class="title">${clutter.promo}</span></a></nav></footer></div></div></div></div></div><footer class="VPFooter"><p class="copyright">${clutter.footer}</p></footer></div></div>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} | Project</title><meta name="generator" content="VitePress v1.5.0">`,
        body,
      ),
      as: { lead, sections: releases },
      dates: [updated],
    };
  },
};

function deeper(section: Section): Section {
  return { ...section, level: section.level + 1, children: section.children.map(deeper) };
}
