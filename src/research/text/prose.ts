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

/** The first and the last half of `length` UTF-16 code units of a text, or the whole where it is no longer. */
export function endsOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length / 2)} ${text.slice(-length / 2)}`;
}
