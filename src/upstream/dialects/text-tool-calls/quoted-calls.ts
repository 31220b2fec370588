import { textAmong } from '../../../base/text.ts';
import type { TurnMessage } from '../../turn.ts';

/** Shorter calls say too little to be told from a quotation, in letters and digits. */
const LEAST = 16;

/**
 * Tells calls that stand in what the model was given to read: in results of tools and in messages of users. Where tools
 * are offered natively, a call that is written as text and stands there word for word is a quotation, however the page
 * or the model set its brackets.
 */
export function quotationsIn(messages: readonly TurnMessage[]): (block: string) => boolean {
  let read: string | undefined;
  return (block) => {
    const words = lettersOf(block);
    if (words.length < LEAST) return false;
    read ??= messages
      .filter(({ role }) => role === 'tool' || role === 'user')
      .map(({ content }) => lettersOf(textAmong(content)))
      .join('\n');
    return read.includes(words);
  };
}

/** Letters and digits in lower case. Results are JSON: what it escapes is no letter. */
function lettersOf(text: string): string {
  return text
    .replace(/\\(?:u[\da-f]{4}|[nrtbf])/gi, ' ')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
