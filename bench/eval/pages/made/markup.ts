import type { Block, Inline, Section } from './article.ts';

type Of<Kind extends Block['kind']> = Extract<Block, { kind: Kind }>;

/** How a tool writes each kind of block. A layout gives those in which it differs from plain HTML. */
export interface Markup {
  section(section: Section, inner: string): string;
  heading(section: Section): string;
  paragraph(html: string): string;
  code(block: Of<'code'>): string;
  table(block: Of<'table'>): string;
  list(block: Of<'list'>): string;
  figure(block: Of<'figure'>): string;
  note(block: Of<'note'>): string;
  question(block: Of<'question'>): string;
  panels(block: Of<'panels'>, write: (blocks: readonly Block[]) => string): string;
}

export const PLAIN: Markup = {
  section: (_section, inner) => inner,
  heading: ({ level, id, title }) => `<h${level} id="${id}">${escapeHtml(title)}</h${level}>\n`,
  paragraph: (html) => `<p>${html}</p>\n`,
  code: ({ language, lines }) =>
    `<pre><code class="language-${language}">${lines.map(escapeHtml).join('\n')}\n</code></pre>\n`,
  table: ({ head, rows }) =>
    `<table><thead>${row(head, 'th')}</thead><tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table>\n`,
  list: ({ ordered, items }) =>
    wrap(ordered ? 'ol' : 'ul', items.map((item) => `<li>${escapeHtml(item)}</li>\n`).join('')),
  figure: ({ alt, caption }) =>
    `<figure><img src="/img/${alt}.png" alt="${alt}" width="640" height="360"><figcaption>${escapeHtml(caption)}</figcaption></figure>\n`,
  note: ({ text }) => `<blockquote><p>${escapeHtml(text)}</p></blockquote>\n`,
  question: ({ question, answer }) =>
    `<details><summary>${escapeHtml(question)}</summary><div><p>${escapeHtml(answer)}</p></div></details>\n`,
  panels: ({ panels }, write) => panels.map(({ blocks }) => `<div role="tabpanel">${write(blocks)}</div>`).join(''),
};

/** The HTML of chapters, as `markup` writes each part of them. */
export function writeSections(sections: readonly Section[], markup: Markup): string {
  return sections
    .map((section) =>
      markup.section(
        section,
        markup.heading(section) + writeBlocks(section.blocks, markup) + writeSections(section.children, markup),
      ),
    )
    .join('');
}

export function writeBlocks(blocks: readonly Block[], markup: Markup): string {
  return blocks.map((block) => writeBlock(block, markup)).join('');
}

function writeBlock(block: Block, markup: Markup): string {
  switch (block.kind) {
    case 'paragraph':
      return markup.paragraph(block.parts.map(inline).join(''));
    case 'code':
      return markup.code(block);
    case 'table':
      return markup.table(block);
    case 'list':
      return markup.list(block);
    case 'figure':
      return markup.figure(block);
    case 'note':
      return markup.note(block);
    case 'question':
      return markup.question(block);
    case 'panels':
      return markup.panels(block, (blocks) => writeBlocks(blocks, markup));
  }
}

function inline(part: Inline): string {
  if (typeof part === 'string') return escapeHtml(part);
  if ('url' in part) return `<a href="${part.url}">${escapeHtml(part.text)}</a>`;
  if ('code' in part) return `<code>${escapeHtml(part.code)}</code>`;
  return `${escapeHtml(part.base)}<sup>${escapeHtml(part.power)}</sup>`;
}

function row(cells: readonly string[], tag: string): string {
  return `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
}

export function wrap(tag: string, html: string, attributes = ''): string {
  return `<${tag}${attributes && ` ${attributes}`}>${html}</${tag}>\n`;
}

/** A line of code as highlighters write it: each word in an element of its own. */
export function highlighted(line: string, open: (word: string) => string): string {
  return line
    .split(/(\w+)/)
    .map((word) => (/^\w+$/.test(word) ? `${open(word)}${word}</span>` : escapeHtml(word)))
    .join('');
}

export function links(labels: readonly string[], item = (html: string) => `<li>${html}</li>`): string {
  return labels
    .map((label) => item(`<a href="/${label.toLowerCase().replaceAll(' ', '-')}">${escapeHtml(label)}</a>`))
    .join('');
}

export function jsonLd(data: Readonly<Record<string, unknown>>): string {
  return `<script type="application/ld+json">${JSON.stringify({ '@context': 'https://schema.org', ...data })}</script>\n`;
}

/** A whole page. */
export function document(language: string, head: string, body: string): string {
  return `<!DOCTYPE html>\n<html lang="${language}"><head><meta charset="utf-8">${head}</head>\n<body>${body}</body></html>\n`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** A day as people write it: `March 9, 2024`. */
export function longDate(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-US', {
    timeZone: 'UTC',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
}
