import { FORMULAS } from '../../formula/formulas.js';
import { Lexer } from '../../lib/marked.js';
import { sameStart } from './same-start.js';

/** What was read last: a report that is being written grows at its end, and its start is not read again. */
let before = [];

// It is loaded: from now on its time is that of reading.
postMessage({ ready: true });

/**
 * Reads Markdown beside the page: a text can be written so that reading it takes very long, and must not hold it up.
 * Answers `{id, keep, tokens}`: so many tokens of the answer before, then these. `whole`: nothing is kept, because the
 * text is another one, or is at its end and a reference may be defined below where it is used.
 */
addEventListener('message', ({ data: { id, text, whole } }) => {
  const clean = text.replace(/\r\n?/g, '\n');
  const same = whole ? { keep: 0, length: 0 } : sameStart(before, clean);
  let tokens;
  try {
    tokens = plain(new Lexer({ gfm: true, extensions: FORMULAS }).lex(clean.slice(same.length)));
    before = [...before.slice(0, same.keep), ...tokens];
  } catch {
    // Nested deeper than the stack: shown as it is.
    before = [];
  }
  postMessage({ id, keep: same.keep, tokens });
});

function plain(tokens) {
  return JSON.parse(JSON.stringify(tokens));
}
