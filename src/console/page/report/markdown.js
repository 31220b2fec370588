import { Component, html } from '../lib/preact.js';
import { directionOf } from '../words.js';
import { chart } from './chart.js';
import { coloured } from './code-colours.js';
import { Formula } from './formula.js';
import { markersIn, PLACEHOLDER, restored } from './markers.js';

/** Models write line breaks so in cells of tables, where Markdown has no other. */
const LINE_BREAK = /^<br\s*\/?>$/i;

/** Deeper nesting is shown as text. */
const MAX_DEPTH = 40;

/**
 * Builds elements from Markdown tokens one by one, so that no text becomes markup. HTML but `<br>` is shown as text, links lead to web
 * addresses only, and pictures are links, because nothing is loaded from elsewhere.
 * @param context `{markers, Cite, charts}`: what placeholders stand for, the element of a citation, and whether blocks
 * `vega-lite` are charts.
 */
export function blocks(tokens, context, depth = 0) {
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => restored(raw, context.markers));
  return tokens.map((token, index) => block(token, context, depth, index));
}

/** How many blocks are compared as a group, so that not every block of a long report is checked. */
const GROUP_SIZE = 16;

/** Top-level blocks in groups, each drawn again only when something in it changed. */
export function groups(tokens, context) {
  const found = [];
  for (let start = 0; start < tokens.length; start += GROUP_SIZE) {
    found.push(html`<${Group} key=${start} tokens=${tokens.slice(start, start + GROUP_SIZE)} context=${context} />`);
  }
  return found;
}

class Group extends Component {
  shouldComponentUpdate({ tokens, context }) {
    const { props } = this;
    if (tokens.length !== props.tokens.length) return true;
    return tokens.some((token, index) => isChanged(token, props.tokens[index], context, props.context));
  }

  render({ tokens, context }) {
    return tokens.map((token, index) => html`<${Block} key=${index} token=${token} context=${context} />`);
  }
}

/** A top-level block, drawn again only when its text changed, because a report grows at its end. */
class Block extends Component {
  shouldComponentUpdate({ token, context }) {
    return isChanged(token, this.props.token, context, this.props.context);
  }

  render({ token, context }) {
    return block(token, context, 0, 0);
  }
}

function isChanged(token, before, context, contextBefore) {
  if (token !== before && (token.raw !== before.raw || token.type !== before.type)) return true;
  if (context === contextBefore) return false;
  // The citation behind a placeholder may have become known.
  return markersOf(token).some((index) => context.markers[index] !== contextBefore.markers[index]);
}

const markersByToken = new WeakMap();

function markersOf(token) {
  let found = markersByToken.get(token);
  if (found === undefined) {
    found = markersIn(token.raw);
    markersByToken.set(token, found);
  }
  return found;
}

function block(token, context, depth, key) {
  const inner = (tokens) => blocks(tokens ?? [], context, depth + 1);
  const words = (tokens) => inline(tokens ?? [], context, depth + 1);
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      if (context.noHeadings) return html`<p dir="auto" key=${key}><strong>${words(token.tokens)}</strong></p>`;
      // The page's own heading stands above.
      return html`<${`h${Math.min(6, token.depth + 1)}`} dir="auto" key=${key}>${words(token.tokens)}<//>`;
    case 'paragraph':
      return html`<p dir="auto" key=${key}>${words(token.tokens)}</p>`;
    case 'text':
      return token.tokens ? html`<span key=${key}>${words(token.tokens)}</span>` : prose(token.text, context);
    case 'blockquote':
      return html`<blockquote dir=${directionOf(token.raw)} key=${key}>${inner(token.tokens)}</blockquote>`;
    case 'list':
      return list(token, context, depth, key);
    case 'code':
      return (context.charts && chart(token, key)) || code(token, context, key);
    case 'table':
      return table(token, context, depth, key);
    case 'formula':
      return html`<${Formula} key=${key} source=${token.source} display=${token.display} />`;
    case 'hr':
      return html`<hr key=${key} />`;
    case 'html':
      return html`<p dir="auto" key=${key}>${prose(token.text, context)}</p>`;
    default:
      return inline([token], context, depth + 1);
  }
}

function code({ text, lang }, context, key) {
  return html`<pre key=${key} dir="ltr" tabindex="0"><code>${coloured(restored(text, context.markers), lang)}</code></pre>`;
}

function list({ ordered, start, items, raw }, context, depth, key) {
  const entries = items.map(
    (item, index) =>
      html`<li dir=${directionOf(item.raw)} key=${index}>
        ${item.task ? (item.checked ? '☑ ' : '☐ ') : ''}${blocks(item.tokens ?? [], context, depth + 1)}
      </li>`,
  );
  const direction = directionOf(raw);
  if (!ordered) return html`<ul key=${key} dir=${direction}>${entries}</ul>`;
  return html`<ol key=${key} dir=${direction} start=${Number.isSafeInteger(start) ? start : 1}>${entries}</ol>`;
}

function table({ header, rows, align, raw }, context, depth, key) {
  const cell = (tag) => (found, index) =>
    html`<${tag} dir=${/\p{L}/u.test(found.text) ? 'auto' : undefined} data-align=${align[index] ?? 'start'} key=${index}>
    ${inline(found.tokens ?? [], context, depth + 1)}
  <//>`;
  return html`<div class="table" dir=${directionOf(raw)} role="region" aria-label="Table" tabindex="0" key=${key}>
    <table>
      <thead><tr>${header.map(cell('th'))}</tr></thead>
      <tbody>${rows.map((row, index) => html`<tr key=${index}>${row.map(cell('td'))}</tr>`)}</tbody>
    </table>
  </div>`;
}

function inline(tokens, context, depth) {
  if (depth > MAX_DEPTH) return tokens.map(({ raw }) => restored(raw, context.markers));
  const inner = (found) => inline(found ?? [], context, depth + 1);
  return tokens.map((token, index) => {
    switch (token.type) {
      case 'strong':
        return html`<strong key=${index}>${inner(token.tokens)}</strong>`;
      case 'em':
        return html`<em key=${index}>${inner(token.tokens)}</em>`;
      case 'del':
        return html`<del key=${index}>${inner(token.tokens)}</del>`;
      case 'codespan':
        return html`<code key=${index}>${restored(token.text, context.markers)}</code>`;
      case 'formula':
        return html`<${Formula} key=${index} source=${token.source} display=${token.display} />`;
      case 'br':
        return html`<br key=${index} />`;
      case 'html':
        return LINE_BREAK.test(token.raw) ? html`<br key=${index} />` : prose(token.text, context);
      case 'link':
        return link(token.href, inner(token.tokens), context, index);
      case 'image':
        return link(token.href, prose(token.text || token.href, context), context, index);
      case 'checkbox':
        return null;
      default:
        return token.tokens ? inner(token.tokens) : prose(token.text ?? token.raw ?? '', context);
    }
  });
}

function link(href, content, context, key) {
  const address = restored(href, context.markers);
  if (!/^(https?:\/\/|mailto:)/i.test(address) || !URL.canParse(address)) return content;
  return html`<a key=${key} href=${address} target="_blank" rel="noreferrer noopener nofollow">${content}</a>`;
}

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', '#39': "'" };

/** Text with its citations and its entities decoded. */
function prose(text, { markers, Cite }) {
  const plain = text.replace(/&(amp|lt|gt|quot|apos|nbsp|#39|#\d{1,7}|#x[\da-f]{1,6});/gi, (whole, name) => {
    const known = ENTITIES[name.toLowerCase()];
    if (known) return known;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
  const parts = plain.split(PLACEHOLDER);
  return parts.map((part, index) => {
    if (index % 2 === 1) {
      const marker = markers[Number(part)];
      return marker ? html`<${Cite} marker=${marker} />` : '';
    }
    return part.includes('[?]') ? unsourced(part) : part;
  });
}

/** A citation marker without a source. */
function unsourced(text) {
  return text
    .split('[?]')
    .flatMap((part, index) =>
      index === 0
        ? [part]
        : [html`<span class="unsourced" title="The model cited a source that does not exist">[?]</span>`, part],
    );
}
