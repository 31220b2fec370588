import type { SourceRegistry } from '../run/sources.ts';

/** What follows a sentence, not an address. */
const TRAILING = /[.,;:!?*_~'’”»…]/;
/** Letters that are written without spaces, and pictures: an address in running text seldom goes on with them. */
const UNSPACED = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{1f000}-\u{1faff}\u2600-\u27bf]/u;

/**
 * The address at the beginning of `raw`, without the punctuation and the words of the sentence around it. An address
 * that the run knows is taken as it is known.
 */
export function urlIn(raw: string, sources: SourceRegistry): string {
  const bracketed = raw.slice(0, unopenedBracket(raw));
  const known = (url: string) => sources.byUrl(url) !== undefined;
  const whole = trimEnd(bracketed, known);
  if (known(whole)) return whole;
  const foreign = bracketed.search(UNSPACED);
  if (foreign === -1) return whole;
  const plain = trimEnd(bracketed.slice(0, foreign), known);
  // A path that begins so is meant so: https://zh.example/wiki/北京
  return known(plain) || !/[/=_]$/.test(bracketed.slice(0, foreign)) ? plain : whole;
}

/** Where a closing bracket stands that nothing in the address opened. */
function unopenedBracket(text: string): number {
  const open: string[] = [];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '(' || character === '[') open.push(character);
    else if (character === ')' && open.pop() !== '(') return i;
    else if (character === ']' && open.pop() !== '[') return i;
  }
  return text.length;
}

function trimEnd(url: string, known: (url: string) => boolean): string {
  let end = url.length;
  while (end > 0 && TRAILING.test(url[end - 1] ?? '')) {
    // Registered once at most for each mark: addresses that end in one are rare, and short rows of marks are, too.
    if (url.length - end < 8 && known(url.slice(0, end))) break;
    end--;
  }
  return url.slice(0, end);
}
