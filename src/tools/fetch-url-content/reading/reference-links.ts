import { MAX_CONTENT, type ParsedDocument } from '../parsing/parse-job.ts';

/** Pages of this length get numbered links, because addresses would take room from their text. In UTF-16 code units. */
const LONG_PAGE = 12_000;
/** Longer addresses stay in the text. */
const MAX_DESTINATION = 2000;

/** A code fence, perhaps in a quotation or first in an item of a list, and the rest of its line. */
const FENCE = /^(?:[ >]|- |\d{1,9}\. ){0,100}(`{3,}|~{3,})(.*)/;

/**
 * Converts the links of a long page to reference style: `[text](address)` becomes `[text][L3]`, and `links[2]` is its
 * address. Each address has one number, in the order of the page; the letter tells it from the numbers of sources. Code
 * stays unchanged, and so do links once all addresses together reach `MAX_CONTENT`: a base can make short ones long.
 */
export function numberPageLinks(content: string): Pick<ParsedDocument, 'content' | 'links'> {
  if (content.length <= LONG_PAGE || !content.includes('](')) return { content };
  const numbers = new Map<string, number>();
  let length = 0;
  const label = (address: string) => {
    const known = numbers.get(address);
    if (known === undefined && length + address.length > MAX_CONTENT) return undefined;
    const number = known ?? numbers.size + 1;
    if (known === undefined) length += address.length;
    numbers.set(address, number);
    return `[L${number}]`;
  };
  let openFence = '';
  const lines = content.split('\n').map((line) => {
    const [, fence = '', rest = ''] = FENCE.exec(line) ?? [];
    if (openFence !== '') {
      if (fence.startsWith(openFence) && rest.trim() === '') openFence = '';
      return line;
    }
    // A line with more backticks after it begins with a span of code.
    openFence = rest.includes('`') ? '' : fence;
    return openFence === '' ? replaceOutsideCode(line, (text) => numberLinks(text, label)) : line;
  });
  return numbers.size === 0 ? { content } : { content: lines.join('\n'), links: [...numbers.keys()] };
}

function replaceOutsideCode(line: string, change: (text: string) => string): string {
  if (!line.includes('`')) return change(line);
  const tokens = line.split(/(`+)/);
  const later = new Map<string, number>();
  for (let at = 1; at < tokens.length; at += 2) later.set(tokens[at] ?? '', (later.get(tokens[at] ?? '') ?? 0) + 1);
  let open: string | undefined;
  const changed = tokens.map((token, at) => {
    if (at % 2 === 0) return open === undefined ? change(token) : token;
    const remaining = (later.get(token) ?? 1) - 1;
    later.set(token, remaining);
    if (open === token) open = undefined;
    else if (open === undefined && remaining > 0) open = token;
    return token;
  });
  return changed.join('');
}

function numberLinks(text: string, label: (address: string) => string | undefined): string {
  let out = '';
  let from = 0;
  for (let at = text.indexOf(']('); at >= 0; at = text.indexOf('](', at + 2)) {
    const found = destinationAt(text, at + 2);
    const number = found && label(found.address);
    if (!found || number === undefined) continue;
    out += text.slice(from, at + 1) + number;
    from = found.end;
  }
  return out + text.slice(from);
}

/** The full address after `](`, and the end of its link. The search stops at the next link. */
function destinationAt(text: string, start: number): { address: string; end: number } | undefined {
  const next = text.indexOf('](', start);
  const limit = Math.min(next < 0 ? text.length : next, start + MAX_DESTINATION);
  if (text[start] === '<') {
    const close = text.slice(start, limit).indexOf('>)');
    return close < 0 ? undefined : absoluteAddress(text.slice(start + 1, start + close), start + close + 2);
  }
  let depth = 0;
  for (let at = start; at < limit; at++) {
    const character = text[at] ?? '';
    if (character === '(') depth++;
    else if (character === ')' && depth-- === 0) return absoluteAddress(text.slice(start, at), at + 1);
    else if (/\s/.test(character)) return undefined;
  }
  return undefined;
}

function absoluteAddress(address: string, end: number): { address: string; end: number } | undefined {
  return /^(?:https?|mailto|ftp|corpus):/.test(address) ? { address, end } : undefined;
}
