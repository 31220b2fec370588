import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

const MARKUP: Markup = {
  ...PLAIN,
  section: ({ id, level }, inner) =>
    `<div id="${id}" class="${level === 2 ? 'api-operation' : 'api-subsection'} method-section" data-section="${id}">${inner}</div>\n`,
  heading: ({ level, id, title }) =>
    `<h${level} class="sc-header heading-${level}"><a class="share-link" href="#operation/${id}" aria-label="operation/${id}"></a>${escapeHtml(title)}</h${level}>\n`,
  code: ({ language, lines }) =>
    `<div class="tabs-code"><div class="code-toolbar"><button class="copy-btn" aria-label="Copy">Copy</button></div><pre class="${language}"><code>${lines.map((line) => `<span class="line">${escapeHtml(line)}</span>`).join('\n')}</code></pre></div>\n`,
  table: ({ head, rows }) =>
    `<div class="params-wrap"><table class="params table"><thead><tr>${head.map((cell) => `<th scope="col">${escapeHtml(cell)}</th>`).join('')}</tr></thead><tbody>${rows.map(([name = '', ...cells]) => `<tr><td kind="field"><span class="property-name"><code>${escapeHtml(name)}</code></span></td>${cells.map((cell) => `<td><div><span class="prop-value">${escapeHtml(cell)}</span></div></td>`).join('')}</tr>`).join('')}</tbody></table></div>\n`,
  note: ({ text }) => `<div class="callout callout_info" theme="ℹ️"><p>${escapeHtml(text)}</p></div>\n`,
  question: ({ question, answer }) =>
    `<div class="response"><button class="response-toggle" aria-expanded="false"><strong>${escapeHtml(question)}</strong></button><div class="response-body" style="display: none;"><p>${escapeHtml(answer)}</p></div></div>\n`,
  panels({ panels }, write) {
    const tabs = panels.map(
      ({ label }, at) =>
        `<li role="tab" id="t:${at}" aria-selected="${at === 0}" aria-controls="p:${at}">${label}</li>`,
    );
    const shown = panels.map(
      ({ blocks }, at) =>
        `<div role="tabpanel" id="p:${at}" aria-labelledby="t:${at}"${at === 0 ? '' : ' style="display:none"'}>${write(blocks)}</div>`,
    );
    return `<div class="react-tabs"><ul role="tablist">${tabs.join('')}</ul>${shown.join('')}</div>\n`;
  },
};

/** The methods of an API, with their parameters in tables and examples in tabs. */
export const REFERENCE: Layout = {
  name: 'api-reference',
  url: 'https://api.example.com/reference',
  kinds: ['table', 'table', 'code', 'code', 'panels', 'question', 'note', 'list'],
  publish({ title, sections, lead, updated, language }, { clutter }) {
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li data-item-id="operation/${id}" role="menuitem"><label class="menu-item"><span class="operation-type get">get</span><span>${escapeHtml(text)}</span></label></li>`,
    );
    const body = `<div id="redoc"><div class="redoc-wrap"><header class="top-nav"><nav>${links(clutter.menu.slice(0, 5), (html) => html)}</nav></header><div class="menu-content"><div role="search"><input type="text" placeholder="Search..." aria-label="Search" class="search-input"></div><ul role="menu">${toc.join('')}</ul><ul>${links(clutter.teasers)}</ul></div>
<div class="api-content"><div class="api-info"><h1>${escapeHtml(title)} <span>(v2)</span></h1>${writeBlocks(lead, MARKUP)}</div>${writeSections(sections, MARKUP)}<p class="doc-updated">Last updated ${updated}</p><div class="feedback-widget"><p>${clutter.promo}</p><button>👍</button><button>👎</button></div></div></div></div><footer class="site-footer">${clutter.footer}</footer>`;
    return { html: document(language, `<title>${escapeHtml(title)}</title>`, body), dates: [updated] };
  },
};
