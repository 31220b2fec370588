/**
 * `text` without blanks at the ends of its lines and with at most one empty line in a row. Time is linear in the text,
 * whatever it is; the expression `[ \t]+$` would take the square of a run of blanks.
 */
export function trimLines(text: string): string {
  const lines = text.split('\n');
  const kept: string[] = [];
  let empty = 0;
  for (const line of lines) {
    const trimmed = trimBlanksEnd(line);
    empty = trimmed === '' ? empty + 1 : 0;
    if (empty < 2) kept.push(trimmed);
  }
  return kept.join('\n').trim();
}

/** A line without the blanks and tabs at its end. */
export function trimBlanksEnd(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end -= 1;
  return end === line.length ? line : line.slice(0, end);
}

/** `text` without the line ends before it and the white space behind it: code keeps the indent of its first line. */
export function trimBlankEdges(text: string): string {
  let start = 0;
  while (text[start] === '\n') start += 1;
  return text.slice(start).trimEnd();
}
