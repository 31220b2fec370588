/** A text without the characters `char` at its end. A pattern such as `/x+$/` looks anew from each of them. */
export function withoutTrailing(text: string, char: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end--;
  return text.slice(0, end);
}
