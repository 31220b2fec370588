/** A Markdown heading such as `## Title ##`. */
export interface MarkdownHeading {
  level: number;
  text: string;
}

const HASH = 35;

/**
 * Parses a line as a heading; undefined if it is none. Without a regular expression, which would take time that grows with
 * the square of the blanks before the closing hashes.
 */
export function markdownHeading(line: string): MarkdownHeading | undefined {
  let level = 0;
  while (level < 7 && line.charCodeAt(level) === HASH) level += 1;
  if (level === 0 || level > 6 || !isBlank(line[level])) return undefined;
  const rest = line.slice(level).trim();
  let end = rest.length;
  while (end > 0 && rest.charCodeAt(end - 1) === HASH) end -= 1;
  // Hashes close a heading only after a blank: `# C#` is about C#.
  const text = end === rest.length || (end > 0 && !isBlank(rest[end - 1])) ? rest : rest.slice(0, end).trimEnd();
  return text === '' ? undefined : { level, text };
}

/** The first heading of level 1 or 2 within the first `length` UTF-16 code units, outside of code fences. */
export function firstHeading(markdown: string, length = 20_000): string | undefined {
  let isCode = false;
  for (const line of markdown.slice(0, length).split('\n')) {
    if (isFence(line)) isCode = !isCode;
    const heading = isCode ? undefined : markdownHeading(line);
    if (heading && heading.level <= 2) return heading.text;
  }
  return undefined;
}

/** Whether a line opens or closes a code fence. */
export function isFence(line: string): boolean {
  return /^ {0,3}(```|~~~)/.test(line);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
