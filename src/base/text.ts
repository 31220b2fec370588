/** A text without the characters `char` at its end. A pattern such as `/x+$/` looks anew from each of them. */
export function withoutTrailing(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end--;
  return text.slice(0, end);
}

/** An address without query and fragment, which may hold credentials; null where it is none. */
export function withoutQuery(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed && `${parsed.origin}${parsed.pathname}`;
}
