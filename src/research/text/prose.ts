import { textAmong } from '../../base/text.ts';
import { isAttached } from '../../tools/attached-file.ts';
import type { ResearchRequest } from '../run/request.ts';

/** Text of messages. */

/** The text of the last user message, without the documents that stand in it: what the run is to answer. */
export function questionOf(request: ResearchRequest): string {
  const asked = request.conversation.findLast((message) => message.role === 'user');
  if (!asked) return '';
  return textAmong(asked.content.filter((part) => part.type !== 'text' || !isAttached(part.text)));
}

/**
 * Where a text is cut near `limit`: behind the last of these marks that ends between `from` and there, the first kind
 * first; else at `limit`, or before it where that parts the halves of a character.
 */
export function naturalEnd(
  text: string,
  { from, limit, marks }: { from: number; limit: number; marks: string[] },
): number {
  if (limit >= text.length) return text.length;
  for (const mark of marks) {
    const at = text.lastIndexOf(mark, limit - mark.length) + mark.length;
    if (at > from) return at;
  }
  return betweenCharacters(text, limit);
}

/** The place, or the one before it where it would part the halves of a character. */
export function betweenCharacters(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at - 1 : at;
}

/** The first and the last half of `length` UTF-16 code units of a text, or the whole where it is no longer. */
export function endsOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length / 2)} ${text.slice(-length / 2)}`;
}
