/** Where code stands in a Markdown text. */

/** A part of a text, in UTF-16 code units. */
export interface Span {
  start: number;
  end: number;
}

/** The code blocks of a Markdown text, and its code within lines. A block that is not closed goes on to the end. */
export function codeSpans(text: string): { blocks: Span[]; inline: Span[] } {
  const blocks: Span[] = [];
  const inline: Span[] = [];
  let fence: { mark: string; start: number } | undefined;
  let paragraph = 0;
  let at = 0;
  for (const line of text.split('\n')) {
    const end = at + line.length;
    const mark = /^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})/.exec(line)?.[1];
    const closes = fence && mark?.startsWith(fence.mark) && /^[\s>]*[`~]+\s*$/.test(line);
    if (fence && closes) {
      blocks.push({ start: fence.start, end });
      fence = undefined;
      paragraph = end;
    } else if (!fence && mark && !(mark[0] === '`' && line.slice(line.indexOf(mark) + mark.length).includes('`'))) {
      inline.push(...inlineSpans(text, { start: paragraph, end: at }));
      fence = { mark, start: at };
    } else if (!fence && line.trim() === '') {
      inline.push(...inlineSpans(text, { start: paragraph, end: at }));
      paragraph = end;
    }
    at = end + 1;
  }
  if (fence) blocks.push({ start: fence.start, end: text.length });
  else inline.push(...inlineSpans(text, { start: paragraph, end: text.length }));
  return { blocks, inline };
}

/** Code within a paragraph: from a run of back-ticks to the next run of the same length. */
function inlineSpans(text: string, { start, end }: Span): Span[] {
  const spans: Span[] = [];
  const runs = [...text.slice(start, end).matchAll(/`+/g)];
  const byLength = Map.groupBy(runs.keys(), (index) => runs[index]?.[0].length ?? 0);
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i];
    const closing = byLength.get(run?.[0].length ?? 0)?.find((index) => index > i);
    const close = closing === undefined ? undefined : runs[closing];
    if (!run || closing === undefined || !close) continue;
    spans.push({ start: start + run.index, end: start + close.index + close[0].length });
    i = closing;
  }
  return spans;
}
