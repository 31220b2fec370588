import { html } from '../lib/preact.js';
import { groups } from './markdown.js';
import { useMarkdown } from './use-markdown.js';

const NO_CITATIONS = [];
/** Headings in a thought are not headings of the page. */
const CONTEXT = { markers: [], Cite: () => null, noHeadings: true };

/** Markdown beside the report, such as a thought. */
export function MarkdownText({ text, writing, ...rest }) {
  const { tokens, plain } = useMarkdown({ text, annotations: NO_CITATIONS, writing });
  return html`<div ...${rest}>${tokens ? groups(tokens, CONTEXT) : html`<p class="as-is" dir="auto">${plain}</p>`}</div>`;
}
