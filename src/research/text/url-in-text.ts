import type { SourceRegistry } from '../run/sources.ts';

/** Characters that end a sentence rather than a URL. */
const TRAILING = /[.,;:!?*_~'’”»…]/;
/** Letters of scripts without spaces, and emoji: a URL in running text seldom goes on with them. */
const UNSPACED = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u{1f000}-\u{1faff}\u2600-\u27bf]/u;

/**
 * The URL at the start of `raw`, without the punctuation and words of the sentence around it. A URL that the run has seen
 * is recognised as a whole.
 */
export function urlIn(raw: string, sources: SourceRegistry): string {
  const bracketed = raw.slice(0, unopenedBracket(raw));
  const known = (url: string) => sources.byUrl(url) !== undefined;
  const whole = trimEnd(bracketed, known);
  if (known(whole)) return whole;
  const foreign = bracketed.search(UNSPACED);
  if (foreign === -1) return whole;
  const plain = trimEnd(bracketed.slice(0, foreign), known);
  // After `/`, `=` or `_` the letters belong to the URL: https://zh.example/wiki/北京
  return known(plain) || !/[/=_]$/.test(bracketed.slice(0, foreign)) ? plain : whole;
}

/** The index of the first closing bracket without an opening one, or the length of the text. */
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
    // Only a few look-ups: URLs that end in punctuation are rare.
    if (url.length - end < 8 && known(url.slice(0, end))) break;
    end--;
  }
  return url.slice(0, end);
}
