/** A text before and after the first of a mark; no second half without one. */
export function halves(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** What stands behind each opening mark, up to the closing one or the next opening one. */
export function sections(text: string, { opening, closing }: { opening: string; closing: string }): string[] {
  return text
    .split(opening)
    .slice(1)
    .map((section) => halves(section, closing)[0]);
}
