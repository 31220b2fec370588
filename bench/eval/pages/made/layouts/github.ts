import type { Layout } from '../layout.ts';
import { document, escapeHtml, highlighted, links, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';
import { personName } from '../write-article.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<div class="markdown-heading" dir="auto"><h${level} tabindex="-1" class="heading-element" dir="auto">${escapeHtml(title)}</h${level}><a id="user-content-${id}" class="anchor" aria-label="Permalink: ${escapeHtml(title)}" href="#${id}"><svg class="octicon octicon-link" viewBox="0 0 16 16" aria-hidden="true"></svg></a></div>\n`,
  paragraph: (html) => `<p dir="auto">${html}</p>\n`,
  code: ({ language, lines }) =>
    `<div class="highlight highlight-source-${language} notranslate position-relative overflow-auto" dir="auto" data-snippet-clipboard-copy-content="x"><pre>${lines.map((line) => highlighted(line, () => '<span class="pl-c1">')).join('\n')}</pre></div>\n`,
  table: (block) => `<markdown-accessiblity-table>${PLAIN.table(block)}</markdown-accessiblity-table>\n`,
  list: (block) => PLAIN.list(block).replace(/^<(ul|ol)>/, '<$1 dir="auto">'),
  figure: ({ alt, caption }) =>
    `<p dir="auto"><a target="_blank" rel="noopener noreferrer" href="/x/y/blob/main/${alt}.png"><img src="/x/y/raw/main/${alt}.png" alt="${alt}" style="max-width: 100%;"></a></p>\n<p dir="auto"><em>${escapeHtml(caption)}</em></p>\n`,
  note: ({ text }) =>
    `<div class="markdown-alert markdown-alert-note" dir="auto"><p class="markdown-alert-title" dir="auto"><svg class="octicon octicon-info"></svg>Note</p><p dir="auto">${escapeHtml(text)}</p></div>\n`,
  question: ({ question, answer }) =>
    `<details>\n<summary>${escapeHtml(question)}</summary>\n<p dir="auto">${escapeHtml(answer)}</p>\n</details>\n`,
};

/** The front page of a repository (its README beside what is said about it), a release, or an issue. */
export const GITHUB: Layout = {
  name: 'github',
  url: 'https://github.com/verdant/basaltic',
  kinds: ['code', 'code', 'table', 'list', 'note', 'question', 'figure'],
  publish({ title, sections, lead, published, author, language }, { clutter, random }) {
    const header = `<div class="logged-out env-production page-responsive"><a href="#start-of-content" class="p-3 show-on-focus">Skip to content</a><header class="HeaderMktg header-logged-out" role="banner"><nav class="HeaderMenu-nav" aria-label="Global"><ul>${links(clutter.menu.slice(0, 5), (html) => `<li class="HeaderMenu-item">${html}</li>`)}</ul></nav></header>`;
    const footer = `<footer class="footer pt-8 pb-6 f6" role="contentinfo"><h2 class="sr-only">Footer</h2><span>${clutter.footer}</span><nav aria-label="Footer"><ul>${links(clutter.menu.slice(5))}</ul></nav></footer><div id="ajax-error-message" class="ajax-error-message flash flash-error" hidden>You can’t perform that action at this time.</div></div>`;
    const text = writeBlocks(lead, MARKUP) + writeSections(sections, MARKUP);
    const page = (head: string, main: string) =>
      document(
        language,
        `<title>${head} · GitHub</title><meta property="og:site_name" content="GitHub"><meta name="hostname" content="github.com">`,
        `${header}<main id="js-repo-pjax-container">${main}</main>${footer}`,
      );
    const kind = random.pick(['readme', 'release', 'issue'] as const);
    if (kind === 'issue') {
      const other = personName(random);
      const [first, ...rest] = sections;
      const comment = (by: string, html: string) =>
        `<div class="react-issue-comment"><div data-testid="comment-header"><a data-testid="avatar-link" href="/x">${by}</a> <a href="#c"><relative-time datetime="${published}T10:00:00Z">on Mar 3</relative-time></a></div><div class="markdown-body NewMarkdownViewer" data-testid="markdown-body">${html}</div><div role="toolbar" aria-label="Reactions"><button>👍 4</button></div></div>`;
      const opened = comment(author, writeBlocks(lead, MARKUP) + (first ? writeSections([first], MARKUP) : ''));
      return {
        html: page(
          `${escapeHtml(title)} · Issue #42`,
          `<div data-testid="issue-viewer-container"><div data-testid="issue-header"><h1><bdi data-testid="issue-title">${escapeHtml(title)}</bdi><span>#42</span></h1><span data-testid="header-state">Open</span></div>${opened}${comment(other, writeSections(rest, MARKUP))}<div><p>${clutter.promo}</p><a href="/signup">Sign up for free</a></div></div>`,
        ),
        dates: [published],
        authors: [author, other],
      };
    }
    if (kind === 'release') {
      const assets = ['basaltic-linux-x64.tar.gz', 'basaltic-darwin-arm64.zip'];
      return {
        html: page(
          `Release ${escapeHtml(title)} · verdant/basaltic`,
          `<div data-hpc class="Box"><div class="Box-body"><div class="d-flex"><h1 data-view-component="true" class="d-inline mr-3">${escapeHtml(title)}</h1></div><div class="mb-3 color-fg-muted"><div class="mr-4"><a href="/x" class="color-fg-muted wb-break-all">${author}</a> released this <relative-time datetime="${published}T10:00:00Z">${published}</relative-time></div></div><div data-pjax="true" data-test-selector="body-content" class="markdown-body my-3">${text}</div></div><div class="Box-footer"><details open><summary><h3>Assets <span class="Counter">2</span></h3></summary><ul>${assets.map((name) => `<li class="Box-row"><a href="/verdant/basaltic/releases/download/v1/${name}"><span class="Truncate-text text-bold">${name}</span></a></li>`).join('')}</ul></details></div></div><div class="js-feed">${links(clutter.teasers, (html) => `<div>${html}</div>`)}</div>`,
        ),
        dates: [published],
        authors: [author],
      };
    }
    const about = sentenceOf(title);
    return {
      html: page(
        `GitHub - verdant/basaltic: ${escapeHtml(about)}`,
        `<div class="Layout-main"><div class="file-navigation"><button>main</button><a href="/x/branches">12 Branches</a></div><table aria-labelledby="folders-and-files"><tbody><tr class="react-directory-row"><td><a href="/x/tree/main/src">src</a></td><td><a>${clutter.promo}</a></td><td><relative-time datetime="2025-06-01T00:00:00Z">Jun 1, 2025</relative-time></td></tr></tbody></table><article class="markdown-body entry-content container-lg" itemprop="text">${text}</article></div><div class="Layout-sidebar"><div class="BorderGrid about-margin"><div class="BorderGrid-cell"><h2 class="mb-3 h4">About</h2><p class="f4 my-3">${escapeHtml(about)}</p><h3 class="sr-only">License</h3><div class="mt-2"><a href="#MIT-1-ov-file" class="Link--muted"><svg class="octicon octicon-law"></svg> MIT license</a></div><h3 class="sr-only">Stars</h3><div class="mt-2"><a href="/verdant/basaltic/stargazers" class="Link--muted"><svg></svg> <strong>1.2k</strong> stars</a></div></div><div class="BorderGrid-cell"><h2 class="h4 mb-3"><a href="/verdant/basaltic/releases">Releases <span class="Counter">31</span></a></h2><a class="Link--primary" href="/verdant/basaltic/releases/tag/v4.7.1"><span class="css-truncate">v4.7.1</span></a><relative-time datetime="${published}T10:00:00Z">Mar 3</relative-time></div></div></div>`,
      ),
      dates: [published],
      paragraphs: [about, 'MIT license', '1.2k stars', 'v4.7.1'],
    };
  },
};

function sentenceOf(title: string): string {
  return `A library in which ${title.slice(0, 1).toLowerCase()}${title.slice(1)}, for everyone`;
}
