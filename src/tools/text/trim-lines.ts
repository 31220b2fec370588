/** Removes blanks at line ends and repeated empty lines, in linear time: `[ \t]+$` would be quadratic in runs of blanks. */
export function trimLines(text: string): string {
  const lines = text.split('\n');
  const trimmedLines: string[] = [];
  let empty = 0;
  for (const line of lines) {
    const trimmed = trimBlanksEnd(line);
    empty = trimmed === '' ? empty + 1 : 0;
    if (empty < 2) trimmedLines.push(trimmed);
  }
  return trimmedLines.join('\n').trim();
}

/** Removes blanks and tabs at the end of a line. */
export function trimBlanksEnd(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end -= 1;
  return end === line.length ? line : line.slice(0, end);
}

/** Removes line ends before a text and white space after it; code keeps the indent of its first line. */
export function trimBlankEdges(text: string): string {
  let start = 0;
  while (text[start] === '\n') start += 1;
  return text.slice(start).trimEnd();
}
