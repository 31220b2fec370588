import { isStatement } from '../sentences.ts';
import { CJK } from '../text/fold.ts';
import type { Sentence } from '../text/parse-sentence.ts';
import type { SourceText } from '../text/source-text.ts';
import { rangeOf } from '../verbatim.ts';

/** Words in quotation marks: fewer than three may be a title, or a word that somebody would not use. */
const QUOTED = /["“„«「『](?=\S)([^"“”„«»「」『』[\]]{1,400})["”“»」』]/g;
/** How many quotes of a claim are looked for. */
const MAX_QUOTED = 3;

/** Whether a claim quotes words that its source, in the same language, does not have. */
export function misquotes({ text, language }: Sentence, main: Sentence, source: SourceText): boolean {
  if (language !== main.language || CJK.test(text) !== CJK.test(main.text)) return false;
  const quotes = [...text.matchAll(QUOTED)].map(([, words = '']) => words);
  return quotes
    .filter(isStatement)
    .slice(0, MAX_QUOTED)
    .some((words) => !rangeOf(words, source));
}
