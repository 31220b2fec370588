/** How many blocks at the end more text may change: a paragraph becomes a heading or a table, a list continues. */
const OPEN_BLOCKS = 2;

/**
 * How many of the last tokens are unchanged at the start of a text, whatever follows them, and their total length:
 * `{keep, length}`.
 */
export function sameStart(tokens, text) {
  const ends = [0];
  for (const { raw } of tokens) {
    const start = ends[ends.length - 1];
    if (!text.startsWith(raw, start)) break;
    ends.push(start + raw.length);
  }
  let keep = ends.length - 1;
  for (let open = 0; keep > 0 && open < OPEN_BLOCKS; keep -= 1) if (tokens[keep - 1].type !== 'space') open += 1;
  return { keep, length: ends[keep] };
}
