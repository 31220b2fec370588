import { MAX_CONTENT, type ParsedDocument } from '../parsing/parse-job.ts';

/** From here on a page is long: what its addresses take is taken from its text. In UTF-16 code units. */
const LONG = 12_000;
/** Longer destinations stay where they are. */
const MAX_DESTINATION = 2000;

/**
 * The links of a long page in reference style: `[text](address)` becomes `[text][L3]`, and `links[2]` is its address. One
 * address has one number, in the order of the page. The letter keeps them apart from the numbers of sources. Code stays
 * as it is, and so do addresses behind as many as a text may be long: a page makes long ones of short ones by its base.
 */
export function withReferences(content: string): Pick<ParsedDocument, 'content' | 'links'> {
  if (content.length <= LONG || !content.includes('](')) return { content };
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
  let fence = '';
  const lines = content.split('\n').map((line) => {
    const mark = /^ {0,20}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== '') {
      if (mark.startsWith(fence)) fence = '';
      return line;
    }
    fence = mark;
    return fence === '' ? outsideOfCode(line, (text) => referenced(text, label)) : line;
  });
  return numbers.size === 0 ? { content } : { content: lines.join('\n'), links: [...numbers.keys()] };
}

function outsideOfCode(line: string, change: (text: string) => string): string {
  if (!line.includes('`')) return change(line);
  const tokens = line.split(/(`+)/);
  const later = new Map<string, number>();
  for (let at = 1; at < tokens.length; at += 2) later.set(tokens[at] ?? '', (later.get(tokens[at] ?? '') ?? 0) + 1);
  let open: string | undefined;
  const changed = tokens.map((token, at) => {
    if (at % 2 === 0) return open === undefined ? change(token) : token;
    const left = (later.get(token) ?? 1) - 1;
    later.set(token, left);
    if (open === token) open = undefined;
    else if (open === undefined && left > 0) open = token;
    return token;
  });
  return changed.join('');
}

function referenced(text: string, label: (address: string) => string | undefined): string {
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

/** The full address behind `](`, and where its link ends. Looks no further than to the next link. */
function destinationAt(text: string, start: number): { address: string; end: number } | undefined {
  const next = text.indexOf('](', start);
  const limit = Math.min(next < 0 ? text.length : next, start + MAX_DESTINATION);
  if (text[start] === '<') {
    const close = text.slice(start, limit).indexOf('>)');
    return close < 0 ? undefined : addressed(text.slice(start + 1, start + close), start + close + 2);
  }
  let depth = 0;
  for (let at = start; at < limit; at++) {
    const character = text[at] ?? '';
    if (character === '(') depth++;
    else if (character === ')' && depth-- === 0) return addressed(text.slice(start, at), at + 1);
    else if (/\s/.test(character)) return undefined;
  }
  return undefined;
}

function addressed(address: string, end: number): { address: string; end: number } | undefined {
  return /^(?:https?|mailto|ftp|corpus):/.test(address) ? { address, end } : undefined;
}
