/** Replaces each run of white space by one space. Runs that are one space already, as most are, are not touched. */
export function collapseSpaces(text: string): string {
  return text.replace(/\s\s+|[^\S ]/g, ' ');
}

/**
 * Where to cut a text near `limit`: after the last mark between `from` and `limit`, with earlier marks in the list
 * preferred; otherwise at `limit`, without splitting a surrogate pair. In UTF-16 code units.
 */
export function naturalEnd(
  text: string,
  { from, limit, marks }: { from: number; limit: number; marks: readonly string[] },
): number {
  if (limit >= text.length) return text.length;
  const start = Math.floor(from);
  const window = text.slice(start, limit);
  for (const mark of marks) {
    const at = window.lastIndexOf(mark);
    if (at !== -1) return start + at + mark.length;
  }
  return characterStart(text, limit);
}

/** `at`, or the index before it if `at` would split a surrogate pair. */
export function characterStart(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') && /[\ud800-\udbff]/.test(text[at - 1] ?? '') ? at - 1 : at;
}

/** `1 source`, `3 sources`. */
export function counted(number: number, what: string): string {
  return `${number.toLocaleString('en-US')} ${what}${number === 1 ? '' : 's'}`;
}

/** Replaces each run of white space by one space and trims the text. */
export function toSingleLine(text: string): string {
  return collapseSpaces(text).trim();
}

/** Removes trailing `char`s from a text in linear time: a pattern such as `/x+$/` starts over at each of them. */
export function withoutTrailing(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end--;
  return text.slice(0, end);
}

/** Formats the path of a field as clients and operators see it: `input[2].content[0].type`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text;
}

/** Decodes percent-encoded text; undefined if it is malformed. */
export function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A URL without its query and fragment, which may hold credentials; null if the text is not a URL. */
export function withoutQuery(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed && `${parsed.origin}${parsed.pathname}`;
}

/** The text of a message: its text parts, joined by line breaks. */
export function contentText(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text = '' }) => (type === 'text' && text !== '' ? [text] : [])).join('\n');
}

/** The length of the longest end of a text that is the beginning, but not all, of one of the `words`. */
export function unfinishedLength(text: string, words: readonly string[]): number {
  let longest = 0;
  for (const word of words) {
    const first = word.charAt(0);
    let at = text.indexOf(first, Math.max(0, text.length - word.length + 1));
    while (at !== -1 && text.length - at > longest) {
      if (word.startsWith(text.slice(at))) longest = text.length - at;
      at = text.indexOf(first, at + 1);
    }
  }
  return longest;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for HTML and XML, also for attributes in double quotes. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter] ?? '');
}
