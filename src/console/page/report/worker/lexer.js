import { FORMULAS } from '../../formula/formulas.js';
import { Lexer } from '../../lib/marked.js';
import { sameStart } from './same-start.js';

/** The last tokens. A report grows at its end, so its unchanged start is not parsed again. */
let before = [];

// The time limit of parsing starts when the worker has loaded.
postMessage({ ready: true });

/**
 * Parses Markdown in a worker, because a text can be made so that parsing takes very long. Answers `{id, keep, tokens}`: the
 * first `keep` tokens of the last answer, then these. `whole` keeps none, because the text is a new one, or complete, and a
 * reference may be defined after its use.
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
