import { hostOf, type SourceRegistry } from '../run/sources.ts';
import { FENCE_TAG } from '../text/fence.ts';

/**
 * Decides which images, links and tags of an answer's Markdown are safe. A page can make a model write an image whose
 * URL sends the conversation to a host of its choice, or a link whose text lies about where it leads. So URLs of hosts
 * that the run has never seen are sent as plain text.
 */

/** Whether an answer may show or link to a URL, given as it is written in Markdown. */
export type MayShow = (destination: string, how: { image: boolean }) => boolean;

/** Longer destinations are never allowed, in UTF-16 code units. */
const LONGEST_DESTINATION = 2000;
/** The longest white space before a destination. */
const LONGEST_GAP = 100;
/**
 * The policy of a run: hosts of its sources and those that its client named. An image whose URL has a query is shown only
 * if the run has seen that very URL, because a query can carry anything to a host that a page planted.
 */
export function mayShowFor(sources: SourceRegistry, named: Pick<ReadonlySet<string>, 'has'>): MayShow {
  return (destination, { image }) => {
    // A fragment or a relative name loads nothing from another host.
    if (/^(?:#[^\s\\]*|[\w+*,=~-]*)$/.test(destination)) return true;
    if (/^(?:corpus:\/\/\/|file:\/\/\/file-[\da-f-]{36}\/)/i.test(destination)) return true;
    // Markdown decodes entities and escapes, so a host with any of them is not what it seems.
    const host = /^https?:\/\/[\w.:[\]-]+(?=[/?#]|$)/i.test(destination) ? hostOf(destination) : undefined;
    if (host === undefined || !(sources.knowsHost(host) || named.has(host))) return false;
    return !image || !destination.includes('?') || sources.byUrl(destination) !== undefined;
  };
}

export function hostsIn(text: string): string[] {
  return [...text.matchAll(/https?:\/\/[^\s<>"'`)\]]{1,300}/gi)].flatMap(([url]) => hostOf(url) ?? []);
}

/**
 * The destination after `](` or `]:`, which end at `at`; `more` if it may go on, undefined if it is no destination.
 */
export function destinationAt(
  text: string,
  at: number,
  { final, link }: { final: boolean; link: boolean },
): string | 'more' | undefined {
  let start = at;
  while (start - at < LONGEST_GAP && start < text.length && SPACES.includes(text[start] ?? '')) start += 1;
  if (start === text.length && !final) return 'more';
  const isBracketed = text[start] === '<';
  const end = isBracketed ? endOfBracketed(text, start) : endOfPlain(text, start, link);
  if (end - start > LONGEST_DESTINATION || opensAnother(text, end)) return undefined;
  if (end === text.length && !final) return 'more';
  const destination = text.slice(isBracketed ? start + 1 : start, end);
  if (destination === '' || destination.includes('`')) return destination === '' ? '' : undefined;
  const rest = text.slice(isBracketed ? end + 1 : end, end + LONGEST_TITLE);
  const closing = rest.search(link ? /[)\n]/ : /\n/);
  if (closing === -1 && rest.length < LONGEST_TITLE - 1 && !final) return 'more';
  // Renderers disagree about whether a back-tick in a title starts code.
  return rest.slice(0, closing === -1 ? undefined : closing).includes('`') ? undefined : destination;
}

/** The longest title after a destination, with its quotes and spaces. */
const LONGEST_TITLE = 200;

function endOfBracketed(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && end - start <= LONGEST_DESTINATION && !'>\n'.includes(text[end] ?? '')) {
    if (opensAnother(text, end)) break;
    end += 1;
  }
  return end;
}

/** The destination ends at white space, or at the parenthesis that closes the link. */
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

/** Whether another destination starts here. No URL contains one, so no character is scanned for two destinations. */
function opensAnother(text: string, at: number): boolean {
  return text[at] === ']' && (text[at + 1] === '(' || text[at + 1] === ':');
}

const SPACES = ' \t\n\v\f\r';

/** Elements that load something, link somewhere or change how the text after them is parsed. */
const RISKY = new Set(
  'a applet area audio base bgsound body button dialog embed form frame frameset head html iframe image img input link listing math meta noembed noframes noscript object option picture plaintext portal pre script select source style svg table template textarea title track video xmp'.split(
    ' ',
  ),
);
const LONGEST_TAG = 2000;
const LONGEST_PLAIN_TAG = 300;

const NAME = /<\/?([a-z][a-z\d-]*)(?=[\s/>])/iy;
const BARE_TAG = /<\/?[a-z][a-z\d-]*\s*\/?>/iy;
/** Has no quote, bracket or back-tick that some renderers would take for the end of the tag. */
const TAG_WITH_URL = /<(?:a|img)(?:[^\S\n]+(?:href|src|alt|title|width|height)="[^"`<>\n]*")+[^\S\n]*\/?>/iy;
const URL_ATTRIBUTE = /(?:href|src)="([^"]*)"/gi;
const AUTOLINK = /<(?:https?:\/\/|corpus:\/\/|file:\/\/|[\w.+-]+@)/iy;

/**
 * Whether the tag or autolink that `<` at `at` opens is allowed, and where the part ends that this decides about. The tags
 * around tool results are for the model alone: a reader never sees one that it repeats (`isHidden`).
 */
export function tagAt(
  text: string,
  at: number,
  { final, mayShow, startsLine }: { final: boolean; mayShow: MayShow; startsLine: boolean },
): { isAllowed: boolean; isHidden?: boolean; end: number } | 'more' {
  const forbidden = { isAllowed: false, end: at + 1 };
  if (text[at + 1] === '!' || text[at + 1] === '?') return forbidden;
  NAME.lastIndex = at;
  const name = NAME.exec(text)?.[1]?.toLowerCase();
  const rest = text.slice(at, at + LONGEST_TAG);
  if (name === undefined) {
    if (!final && /^<\/?[\w.+:-]*\/?$/.test(rest) && rest.length < LONGEST_PLAIN_TAG) return 'more';
    const fence = endOf(FENCE_TAG, text, at);
    if (fence !== undefined) return { isAllowed: true, isHidden: true, end: fence };
    const isAutolink = endOf(AUTOLINK, text, at) !== undefined;
    return { isAllowed: isAutolink || !/^<\/?[a-z][a-z\d+.-]*:/i.test(rest), end: at + 1 };
  }
  const longest = RISKY.has(name) ? LONGEST_TAG : LONGEST_PLAIN_TAG;
  if (!final && rest.length < longest && !/[<>\n]/.test(rest.slice(1, longest))) return 'more';
  // A tag at the start of a line opens an HTML block, in which back-ticks and fences are no code.
  if (startsLine) return forbidden;
  const bare = endOf(BARE_TAG, text, at);
  if (bare !== undefined && (rest[1] === '/' || !RISKY.has(name))) return { isAllowed: true, end: bare };
  const end = endOf(TAG_WITH_URL, text, at);
  if (end === undefined) return forbidden;
  const urls = [...text.slice(at, end).matchAll(URL_ATTRIBUTE)].map(([, url = '']) => url);
  return urls.every((url) => mayShow(url, { image: name === 'img' })) ? { isAllowed: true, end } : forbidden;
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** What would make a link, an image or a tag, if the code around it turns out to be none. */
const MARK_IN_CODE = /(?<=\])[(:]|<(?=[a-z!?])/gi;

/**
 * The indexes of forbidden marks in what seems to be code, but may be text to another Markdown renderer: those of tags
 * that load something and of URLs that may not be shown.
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
  if (tag !== 'more' && tag.isAllowed) return false;
  return RISKY.has(name) || /[\s"'/](?:style|on[a-z]+)\s*=/i.test(code.slice(at, at + LONGEST_PLAIN_TAG));
}
