import { decodeEntities } from './entities.ts';
import { HtmlScanner } from './html-scanner.ts';
import { trimLines } from './trim-lines.ts';

/** A page as plain text. */
export interface PlainPage {
  /** The content of `<title>`, else the first heading; may be empty. */
  title: string;
  text: string;
}

/** Elements whose content is no reading text. They are left out only where they are closed. */
const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'select',
  'nav',
  'footer',
]);

const BLOCKS = new Set(
  'address article aside blockquote br dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);

const MAX_TITLE = 300;

const HEADING = /^h([1-6])$/;

/**
 * Strips HTML in one pass over the text, whatever it is: no tree, no recursion, time linear in the input. It is what
 * the parser in the child process falls back to, and what the local index reads.
 */
export function htmlToText(html: string): PlainPage {
  const scanner = new HtmlScanner(html);
  const out: string[] = [];
  let title = '';
  let heading: { level: number; start: number } | undefined;
  let firstHeading = '';

  for (let part = scanner.next(); part; part = scanner.next()) {
    if (part.kind === 'text') {
      out.push(decodeEntities(part.text.replace(/\s+/g, ' ')));
      continue;
    }
    const { name, closing } = part;
    if (!closing && name === 'title') {
      const inner = scanner.skipTo(name);
      if (inner !== undefined && title === '') title = clean(inner);
      continue;
    }
    if (!closing && SKIPPED.has(name)) {
      scanner.skipTo(name);
      continue;
    }
    const level = Number(HEADING.exec(name)?.[1] ?? 0);
    if (level > 0 && closing && heading) {
      if (firstHeading === '') firstHeading = out.slice(heading.start).join('').trim();
      heading = undefined;
      out.push('\n\n');
    } else if (level > 0 && !closing) {
      out.push(`\n\n${'#'.repeat(level)} `);
      heading = { level, start: out.length };
    } else if (name === 'li' && !closing) out.push('\n- ');
    else if ((name === 'td' || name === 'th') && closing) out.push(' | ');
    else if (name === 'p' || name === 'table' || name === 'pre' || name === 'blockquote') out.push('\n\n');
    else if (BLOCKS.has(name)) out.push('\n');
  }
  return { title: (title || firstHeading).slice(0, MAX_TITLE), text: tidy(out.join('')) };
}

/** Markup-free text on one line, for titles and snippets of search services. */
export function stripMarkup(text: string): string {
  return decodeEntities(text.replace(/<\/?[a-zA-Z][^<>]{0,500}>/g, ''))
    .replace(/\s+/g, ' ')
    .trim();
}

function clean(text: string): string {
  return decodeEntities(text).replace(/\s+/g, ' ').trim();
}

function tidy(text: string): string {
  return trimLines(text.replace(/[ \t]+/g, ' ').replaceAll('\n ', '\n'));
}
