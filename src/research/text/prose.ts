import { contentText } from '../../base/text.ts';
import { isAttachedDocument } from '../../tools/attached-file.ts';
import type { ResearchRequest } from '../run/request.ts';

/** The question of a run: the text of the last user message, without attached documents. */
export function questionOf(request: ResearchRequest): string {
  const last = request.conversation.findLast((message) => message.role === 'user');
  if (!last) return '';
  return contentText(last.content.filter((part) => part.type !== 'text' || !isAttachedDocument(part.text)));
}

/** The start and the end of a text, half of `length` UTF-16 code units each; the whole text if it is not longer. */
export function endsOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length / 2)} ${text.slice(-length / 2)}`;
}
