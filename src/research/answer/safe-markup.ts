import { hostOf, type SourceRegistry } from '../run/sources.ts';

/**
 * What of an answer's Markdown may load or link to something. A page can make a model write an image whose address
 * carries what was said to a host of its choice, or a link whose text lies about where it leads: addresses of hosts
 * that the run never met leave as plain text.
 */

/** Whether an answer may show or link to an address, as it stands in Markdown. */
export type MayShow = (destination: string, how: { image: boolean }) => boolean;

/** A longer destination is shown to nobody; in UTF-16 code units. */
const LONGEST_DESTINATION = 2000;
/** White space before a destination. */
const LONGEST_GAP = 100;
/**
 * The rule of a run: hosts of its sources and those that its client named. An image whose address has a query is shown
 * only if the run met it so: a query can carry anything to a host that was met for that purpose.
 */
export function mayShowFor(sources: SourceRegistry, named: Pick<ReadonlySet<string>, 'has'>): MayShow {
  return (destination, { image }) => {
    // A fragment, or a name beside the page that shows the answer: no host is asked.
    if (/^(?:#[^\s\\]*|[\w+*,=~-]*)$/.test(destination)) return true;
    if (/^(?:corpus:\/\/\/|file:\/\/\/file-[\da-f-]{36}\/)/i.test(destination)) return true;
    // Markdown decodes entities and escapes: a host with any of them is not the one that it seems to be.
    const host = /^https?:\/\/[\w.:[\]-]+(?=[/?#]|$)/i.test(destination) ? hostOf(destination) : undefined;
    if (host === undefined || !(sources.knowsHost(host) || named.has(host))) return false;
    return !image || !destination.includes('?') || sources.byUrl(destination) !== undefined;
  };
}

/** The hosts of the addresses in a text. */
export function hostsIn(text: string): string[] {
  return [...text.matchAll(/https?:\/\/[^\s<>"'`)\]]{1,300}/gi)].flatMap(([url]) => hostOf(url) ?? []);
}

/**
 * The destination after `](` or `]:`, with `at` behind these; `more` if it may go on, undefined if it is no
 * destination.
 */
export function destinationAt(
  text: string,
  at: number,
  { final, link }: { final: boolean; link: boolean },
): string | 'more' | undefined {
  let start = at;
  while (start - at < LONGEST_GAP && start < text.length && SPACES.includes(text[start] ?? '')) start += 1;
  if (start === text.length && !final) return 'more';
  const isPointed = text[start] === '<';
  const end = isPointed ? endOfPointed(text, start) : endOfPlain(text, start, link);
  if (end - start > LONGEST_DESTINATION || opensAnother(text, end)) return undefined;
  if (end === text.length && !final) return 'more';
  const destination = text.slice(isPointed ? start + 1 : start, end);
  if (destination === '' || destination.includes('`')) return destination === '' ? '' : undefined;
  const rest = text.slice(isPointed ? end + 1 : end, end + LONGEST_TITLE);
  const closing = rest.search(link ? /[)\n]/ : /\n/);
  if (closing === -1 && rest.length < LONGEST_TITLE - 1 && !final) return 'more';
  // A title with a back-tick is the beginning of code to one reader, and none to another.
  return rest.slice(0, closing === -1 ? undefined : closing).includes('`') ? undefined : destination;
}

/** A title after a destination, with what is around it. */
const LONGEST_TITLE = 200;

function endOfPointed(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && end - start <= LONGEST_DESTINATION && !'>\n'.includes(text[end] ?? '')) {
    if (opensAnother(text, end)) break;
    end += 1;
  }
  return end;
}

/** To white space, or to the bracket that closes the link. */
function endOfPlain(text: string, start: number, link: boolean): number {
  let end = start;
  let open = 0;
  for (; end < text.length && end - start <= LONGEST_DESTINATION; end += 1) {
    const character = text[end] ?? '';
    if (SPACES.includes(character) || opensAnother(text, end)) break;
    if (character === '(') open += 1;
    if (character === ')' && link) {
      if (open === 0) break;
      open -= 1;
    }
  }
  return end;
}

/** No address has it, and so no character is looked at for more than one. */
function opensAnother(text: string, at: number): boolean {
  return text[at] === ']' && (text[at + 1] === '(' || text[at + 1] === ':');
}

const SPACES = ' \t\n\v\f\r';

/** Elements that load something, lead somewhere or change how what follows is read. */
const RISKY = new Set(
  'a applet area audio base bgsound body button dialog embed form frame frameset head html iframe image img input link listing math meta noembed noframes noscript object option picture plaintext portal pre script select source style svg table template textarea title track video xmp'.split(
    ' ',
  ),
);
/** What of a tag is read. */
const LONGEST_TAG = 2000;
const LONGEST_PLAIN_TAG = 300;

const NAME = /<\/?([a-z][a-z\d-]*)(?=[\s/>])/iy;
const BARE_TAG = /<\/?[a-z][a-z\d-]*\s*\/?>/iy;
/** No quote, bracket or back-tick stands in it that one reader takes for its end and another one does not. */
const TAG_WITH_ADDRESS = /<(?:a|img)(?:[^\S\n]+(?:href|src|alt|title|width|height)="[^"`<>\n]*")+[^\S\n]*\/?>/iy;
const ADDRESS = /(?:href|src)="([^"]*)"/gi;
const AUTOLINK = /<(?:https?:\/\/|corpus:\/\/|file:\/\/|[\w.+-]+@)/iy;

/** What `<` at `at` opens: whether it may stay so, and how much of it is taken as it is. */
export function tagAt(
  text: string,
  at: number,
  { final, mayShow, startsLine }: { final: boolean; mayShow: MayShow; startsLine: boolean },
): { shown: boolean; end: number } | 'more' {
  const hidden = { shown: false, end: at + 1 };
  if (text[at + 1] === '!' || text[at + 1] === '?') return hidden;
  NAME.lastIndex = at;
  const name = NAME.exec(text)?.[1]?.toLowerCase();
  const rest = text.slice(at, at + LONGEST_TAG);
  if (name === undefined) {
    if (!final && /^<\/?[\w.+:-]*\/?$/.test(rest) && rest.length < LONGEST_PLAIN_TAG) return 'more';
    const isAddress = endOf(AUTOLINK, text, at) !== undefined;
    return { shown: isAddress || !/^<\/?[a-z][a-z\d+.-]*:/i.test(rest), end: at + 1 };
  }
  const longest = RISKY.has(name) ? LONGEST_TAG : LONGEST_PLAIN_TAG;
  if (!final && rest.length < longest && !/[<>\n]/.test(rest.slice(1, longest))) return 'more';
  // A tag that begins a line begins a block in which back-ticks and fences are no code.
  if (startsLine) return hidden;
  const bare = endOf(BARE_TAG, text, at);
  if (bare !== undefined && (rest[1] === '/' || !RISKY.has(name))) return { shown: true, end: bare };
  const end = endOf(TAG_WITH_ADDRESS, text, at);
  if (end === undefined) return hidden;
  const addresses = [...text.slice(at, end).matchAll(ADDRESS)].map(([, address = '']) => address);
  return addresses.every((address) => mayShow(address, { image: name === 'img' })) ? { shown: true, end } : hidden;
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** What in code makes a link, an image or a tag of it where it turns out to be none. */
const MARK_IN_CODE = /(?<=\])[(:]|<(?=[a-z!?])/gi;

/**
 * Where the marks stand in what seems to be code, but may be text to another reader of Markdown: those of tags that
 * load something and of addresses that may not be shown.
 */
export function marksInCode(code: string, mayShow: MayShow): number[] {
  return [...code.matchAll(MARK_IN_CODE)].flatMap(({ index, 0: mark }) => {
    if (mark === '<') return isRiskyInCode(code, index, mayShow) ? index : [];
    const destination = destinationAt(code, index + 1, { final: true, link: mark === '(' });
    if (destination === '') return /^[(:]\s*$/.test(code.slice(index)) ? index : [];
    return destination !== undefined && mayShow(destination, { image: true }) ? [] : index;
  });
}

function isRiskyInCode(code: string, at: number, mayShow: MayShow): boolean {
  NAME.lastIndex = at;
  const name = NAME.exec(`${code} `)?.[1]?.toLowerCase();
  if (name === undefined) return /[!?]/.test(code[at + 1] ?? '');
  const tag = tagAt(code, at, { final: true, mayShow, startsLine: false });
  if (tag !== 'more' && tag.shown) return false;
  return RISKY.has(name) || /[\s"'/](?:style|on[a-z]+)\s*=/i.test(code.slice(at, at + LONGEST_PLAIN_TAG));
}
