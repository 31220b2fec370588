import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Marked, type Tokens } from 'marked';
import temml from 'temml';
import { escapeMarkup as escaped } from '../../base/text.ts';
import { parseChartBlock } from '../../protocol/chart/chart-blocks.ts';
import { chartSvg } from '../../protocol/chart/chart-svg.ts';
import { FORMULA_OPTIONS, FORMULAS } from '../../protocol/formula/formulas.js';
import type { Citation, Report, ReportSource } from '../../runs/projections/report.ts';
import { dateOf } from './markdown.ts';
import { isWebAddress, markerParts, withMarkers, withPlaceholders } from './markers.ts';
import { isLineBreak } from './plain-text.ts';
import { REPORT_STYLE } from './style.ts';

/**
 * The report as one self-contained HTML file. Everything in it comes from models and web pages, so text is escaped, HTML is
 * shown as text, links lead to web addresses only, and the file's Content-Security-Policy forbids scripts, images and
 * requests.
 */
export function reportDocument(report: Report): string {
  const { title, question, sources, notes, model, endedAt } = report;
  const text = textOf(report);
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${REPORT_STYLE}${text.includes('<math') ? formulaStyle() : ''}</style>
</head>
<body>
<article>
<header>
<h1 dir="auto">${escaped(title)}</h1>
${question === '' ? '' : `<p class="question" dir="auto">${escaped(question)}</p>\n`}${notes.map((note) => `<p class="note">${escaped(note)}</p>\n`).join('')}</header>
${text}
${sources.length === 0 ? '' : `<section class="sources">\n<h2>Sources</h2>\n<ol>\n${sources.map(sourceItem).join('')}</ol>\n</section>\n`}<footer>${dateOf(endedAt)} · ${escaped(model)}</footer>
</article>
</body>
</html>
`;
}

function textOf(report: Report): string {
  const marked = new Marked({ gfm: true });
  const restored = (text: string) => withMarkers(text, report);
  const prose = (text: string) =>
    markerParts(text, report)
      .map((part) => (typeof part === 'string' ? withEntities(escaped(part)) : citation(part)))
      .join('');
  marked.use({
    renderer: {
      html: (token: Tokens.HTML | Tokens.Tag) => (isLineBreak(token) ? '<br>' : prose(token.text)),
      text(token: Tokens.Text | Tokens.Escape) {
        return 'tokens' in token && token.tokens ? this.parser.parseInline(token.tokens) : prose(token.text);
      },
      code: ({ text, raw }: Tokens.Code) => {
        const chart = report.charts ? parseChartBlock(raw) : undefined;
        if (chart) return `<figure>${chartSvg(chart)}</figure>\n`;
        return `<pre><code>${escaped(restored(text))}</code></pre>\n`;
      },
      codespan: ({ text }: Tokens.Codespan) => `<code>${escaped(restored(text))}</code>`,
      link({ href, tokens }: Tokens.Link) {
        return link(restored(href), this.parser.parseInline(tokens));
      },
      // The file loads nothing, so an image becomes a link with its name.
      image: ({ href, text }: Tokens.Image) => link(restored(href), prose(text === '' ? restored(href) : text)),
      checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
    },
  });
  const extensions = { ...FORMULAS, renderers: { formula } };
  return marked.parse(withPlaceholders(report), { async: false, extensions });
}

/** The style sheet of formulas, without its font, which the file could not load. */
function formulaStyle(): string {
  const style = readFileSync(fileURLToPath(import.meta.resolve('temml/dist/Temml-Local.css')), 'utf8');
  return style.replace(/@font-face \{[^{}]*\}/, '');
}

/** A formula as MathML with its source, or the source alone if it is not understood. */
function formula({ source, display }: Tokens.Generic): string {
  try {
    return temml.renderToString(String(source), { ...FORMULA_OPTIONS, displayMode: display === true, annotate: true });
  } catch {
    return `<code>${escaped(String(source))}</code>`;
  }
}

/** Restores Markdown's entities, which escaping has turned into text. */
function withEntities(html: string): string {
  return html.replace(/&amp;(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,31}\d{0,2});/gi, '&$1;');
}

function citation(citations: readonly Citation[]): string {
  const links = citations.map(({ source, isDoubted }) => {
    const doubt = isDoubted ? ' title="The source may not say this."' : '';
    return `<a href="#source-${source}"${doubt}>${source}${isDoubted ? '?' : ''}</a>`;
  });
  return `<sup class="cite">${links.join(', ')}</sup>`;
}

function sourceItem({ number, url, title, verified }: ReportSource): string {
  const attributes = number === null ? ' class="unnumbered"' : ` id="source-${number}" value="${number}"`;
  const unread = verified ? '' : ' <em>(not read by the run)</em>';
  const address = `<span class="address">${escaped(url)}</span>`;
  return `<li${attributes}><span dir="auto">${link(url, escaped(title))}</span>${unread}<br>${address}</li>\n`;
}

/** A link if the address is a web address; otherwise only its text. */
function link(href: string, content: string): string {
  if (!isWebAddress(href)) return content;
  return `<a href="${escaped(href)}" rel="noreferrer noopener nofollow">${content}</a>`;
}
