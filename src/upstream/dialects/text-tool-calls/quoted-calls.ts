import { contentText } from '../../../base/text.ts';
import type { TurnMessage } from '../../turn.ts';

/** Shorter calls are too common to be recognised as a quotation, in letters and digits. */
const MIN_LENGTH = 16;

/**
 * Recognises calls that the model only quotes from what it was given to read: tool results and user messages. Where tools
 * are offered natively, a call written as text that occurs there word for word is a quotation, however the page or the
 * model punctuated it.
 */
export function quotationsIn(messages: readonly TurnMessage[]): (block: string) => boolean {
  let source: string | undefined;
  return (block) => {
    const words = lettersOf(block);
    if (words.length < MIN_LENGTH) return false;
    source ??= messages
      .filter(({ role }) => role === 'tool' || role === 'user')
      .map(({ content }) => lettersOf(contentText(content)))
      .join('\n');
    return source.includes(words);
  };
}

/** Only the letters and digits, in lower case. Tool results are JSON, so escape sequences are removed first. */
function lettersOf(text: string): string {
  return text
    .replace(/\\(?:u[\da-f]{4}|[nrtbf])/gi, ' ')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
}
