import { Lexer } from '../lib/marked.js';

/** Reads Markdown beside the page: a text can be written so that reading it takes very long, and must not hold it up. */
addEventListener('message', ({ data: { id, text } }) => {
  let tokens;
  try {
    tokens = new Lexer({ gfm: true }).lex(text);
  } catch {
    // Nested deeper than the stack: shown as it is.
  }
  postMessage({ id, tokens: tokens && JSON.parse(JSON.stringify(tokens)) });
});
