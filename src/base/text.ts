/** A text with one space for each run of white space. Most runs are one space, and are not touched. */
export function joinSpaces(text: string): string {
  return text.replace(/\s\s+|[^\S ]/g, ' ');
}

/** A text with one space for each run of white space, and none around it. */
export function onOneLine(text: string): string {
  return joinSpaces(text).trim();
}

/** A text without the characters `char` at its end. A pattern such as `/x+$/` looks anew from each of them. */
export function withoutTrailing(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end--;
  return text.slice(0, end);
}

/** The path of a value in the words of clients and operators: `input[2].content[0].type`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text;
}

/** A percent-encoded text as it was; undefined where it is not encoded well. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** An address without query and fragment, which may hold credentials; null for any other text. */
export function withoutQuery(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed && `${parsed.origin}${parsed.pathname}`;
}

/** The text of a message: among its content parts, in lines. */
export function textAmong(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.flatMap(({ type, text = '' }) => (type === 'text' && text !== '' ? [text] : [])).join('\n');
}

/** The length of the longest end of a text with which one of the `words` begins, and which is not all of it. */
export function unfinishedEnd(text: string, words: readonly string[]): number {
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

/** Text as it stands in HTML and XML, also in attributes with double quotes. */
export function escapedMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter] ?? '');
}
