import { contentText } from '../../base/text.ts';
import { isAttachedDocument } from '../../tools/attached-file.ts';
import type { ResearchRequest } from '../run/request.ts';

/** The question of a run: the text of the last user message, without attached documents. */
export function questionOf(request: ResearchRequest): string {
  const last = request.conversation.findLast((message) => message.role === 'user');
  if (!last) return '';
  return contentText(last.content.filter((part) => part.type !== 'text' || !isAttachedDocument(part.text)));
}

/**
 * Where to cut a text near `limit`: after the last mark between `from` and `limit`, with earlier marks in the list
 * preferred; otherwise at `limit`, without splitting a surrogate pair.
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

/** `at`, or the index before it if `at` would split a surrogate pair. */
export function betweenCharacters(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at - 1 : at;
}

/** The start and the end of a text, half of `length` UTF-16 code units each; the whole text if it is not longer. */
export function endsOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length / 2)} ${text.slice(-length / 2)}`;
}
