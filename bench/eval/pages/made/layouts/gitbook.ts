import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

const ariaRow = (cells: readonly string[], role: string) =>
  `<div class="w-full flex hover:bg-tint-hover" role="row">${cells.map((cell) => `<div class="flex-1 align-middle min-w-32 px-4 py-2" role="${role}"><div class="blocks *:max-w-full space-y-2"><p class="text-left">${escapeHtml(cell)}</p></div></div>`).join('')}</div>`;

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<h${level} id="${id}" class="text-3xl font-semibold leading-tight mx-auto flex items-baseline scroll-m-12 group/hash"><div class="hash grid grid-area-1-1 relative -ml-6"><a href="#${id}" aria-label="Direct link to heading" class="opacity-0 group-hover/hash:opacity-9"><svg class="gb-icon size-4"></svg></a></div><div class="grid-area-1-1 z-[1] justify-self-start text-left">${escapeHtml(title)}</div></h${level}>`,
  paragraph: (html) => `<p class="mx-auto page-width-wide:mx-0 decoration-primary/6 max-w-3xl w-full">${html}</p>`,
  code: ({ lines }) =>
    `<div class="group/codeblock grid grid-flow-col mx-auto"><div class="flex items-center justify-start text-sm"></div><button class="zoomtransition group-hover/codeblock:opacity">Copy</button><pre class="hide-scroll relative overflow-auto bg-tint"><code id="c" class="inline-grid min-w-full grid-cols-[auto_1fr] p-2 [counter-reset:line]">${lines.map((line) => `<span class="highlight-line"><span class="highlight-line-content"><span style="--shiki-light:#1e1e1e">${escapeHtml(line)}</span>\n</span></span>`).join('')}</code></pre></div>`,
  table: ({ head, rows }) =>
    `<div class="relative grid w-full overflow-x-auto mx-auto"><div role="table" class="flex flex-col"><div role="rowgroup" class="w-full bg-tint-subtle"><div role="row" class="flex w-full">${head.map((cell) => `<div role="columnheader" class="flex-1 px-4 py-3 text-sm font-medium">${escapeHtml(cell)}</div>`).join('')}</div></div><div role="rowgroup" class="flex flex-col w-full">${rows.map((row) => ariaRow(row, 'cell')).join('')}</div></div></div>`,
  list: ({ ordered, items }) =>
    `<${ordered ? 'ol' : 'ul'} class="min-w-0 space-y-2 mx-auto">${items.map((item, at) => `<li class="leading-normal mb-1 flex max-w-[unset]"><div class="text-base leading-normal mr-1 flex min-h-[1lh] min-w-6 items-center justify-center text-tint">${ordered ? `<div>${at + 1}.</div>` : '<div class="before:content-[&quot;•&quot;]"></div>'}</div><div class="flex min-w-0 flex-1 flex-col space-y-2"><p class="max-w-3xl">${escapeHtml(item)}</p></div></li>`).join('')}</${ordered ? 'ol' : 'ul'}>`,
  figure: ({ alt, caption }) =>
    `<figure class="relative page-api-block:ml-0 text-center"><picture class="relative"><img alt="${alt}" class="rounded" src="https://files.example.com/${alt}.png?width=768"></picture><figcaption class="text-sm text-tint mt-2">${escapeHtml(caption)}</figcaption></figure>`,
  note: ({ text }) =>
    `<div class="hint transition-colors rounded-md theme-info bg-info"><div class="flex flex-row"><div class="size-5"><svg class="gb-icon"></svg></div><div class="flex-1"><p>${escapeHtml(text)}</p></div></div></div>`,
  question: ({ question, answer }) =>
    `<details class="group/expandable mx-auto rounded-sm border"><summary class="cursor-pointer px-4 py-3 list-none flex"><h4 id="q" class="flex-1">${escapeHtml(question)}</h4></summary><div class="px-10 pb-5 space-y-4"><p>${escapeHtml(answer)}</p></div></details>`,
  panels({ panels }, write) {
    const tabs = panels.map(
      ({ label }, at) =>
        `<button role="tab" aria-selected="${at === 0}" aria-controls="tabpanel-${at}">${label}</button>`,
    );
    const shown = panels.map(
      ({ blocks }, at) =>
        `<div role="tabpanel" id="tabpanel-${at}" class="p-4${at === 0 ? '' : ' hidden'}">${write(blocks)}</div>`,
    );
    return `<div class="rounded-lg border mx-auto max-w-3xl"><div role="tablist" class="flex">${tabs.join('')}</div>${shown.join('')}</div>`;
  },
};

export const GITBOOK: Layout = {
  name: 'gitbook',
  url: 'https://handbook.example.io/start/page',
  kinds: ['code', 'table', 'table', 'list', 'list', 'note', 'question', 'panels', 'figure'],
  publish({ title, sections, lead, updated, language }, { clutter }) {
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li class="flex flex-row relative"><a href="#${id}" class="relative z-10 text-sm">${escapeHtml(text)}</a></li>`,
    );
    const body = `<div class="flex flex-col"><header id="site-header" class="flex flex-col sticky top-0"><div class="flex">${links(clutter.menu.slice(0, 3), (html) => html)}<button>Ask or search…</button></div></header>
<div class="flex flex-col lg:flex-row"><aside data-testid="table-of-contents" id="table-of-contents" class="group relative shrink-0"><ul class="flex flex-1 flex-col">${links(clutter.teasers)}</ul><a class="text-sm" href="https://www.gitbook.com/?utm_source=content">Powered by GitBook</a></aside>
<div class="flex-1 max-w-screen-2xl"><main class="relative min-w-0 flex-1"><header class="max-w-3xl mx-auto mb-6 space-y-3"><nav aria-label="Breadcrumb"><ol class="flex flex-wrap">${links(clutter.menu.slice(3, 4))}</ol></nav><h1 class="text-4xl font-bold">${escapeHtml(title)}</h1></header>
<div class="grid [&>*+*]:mt-5 whitespace-pre-wrap">${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}</div>
<div class="mx-auto mt-6 flex flex-row max-w-3xl"><a class="group text-sm p-2.5" href="/next"><span class="text-xs">Next</span><span class="text-base">${clutter.promo}</span></a></div>
<div class="mx-auto mt-6 flex max-w-3xl text-sm"><p class="mr-auto text-sm">Last updated <time datetime="${updated}T09:00:00.000Z">7 months ago</time></p><div>Was this helpful?<button type="button" aria-label="Yes, it was!"></button><button type="button">No</button></div></div></main></div>
<aside class="page-aside hidden xl:flex"><span class="text-xs">On this page</span><ul>${toc.join('')}</ul></aside></div>
<footer class="border-t"><div class="mx-auto">${clutter.footer}</div></footer><div role="dialog" class="fixed bottom-4"><p class="text-sm">${clutter.cookies} <a href="/privacy">privacy policy</a></p><button>Accept</button><button>Reject</button></div></div>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} | Handbook</title><meta name="generator" content="GitBook (28f1fc6)">`,
        body,
      ),
      dates: [updated],
    };
  },
};
