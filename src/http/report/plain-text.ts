import { decodeHTML } from 'entities/decode';
import type { Token } from 'marked';

/** The level of the highest heading; 6 if it has no headings. */
export function highestHeading(tokens: readonly Token[]): number {
  return tokens.reduce((level, token) => (token.type === 'heading' ? Math.min(level, token.depth) : level), 6);
}

/** Whether a token is a line break. Models write `<br>` in cells of tables, where Markdown has no other. */
export function isLineBreak(token: Token): boolean {
  return token.type === 'br' || (token.type === 'html' && /^<br\s*\/?>$/i.test(token.raw));
}

/** The visible text of inline Markdown. */
export function textOfTokens(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('');
}

function textOf(token: Token): string {
  if (isLineBreak(token)) return '\n';
  if (token.type === 'codespan') return token.text;
  if (token.type === 'formula') return token.source;
  if (token.type !== 'image' && 'tokens' in token && token.tokens) return textOfTokens(token.tokens);
  return 'text' in token ? decodeHTML(token.text) : '';
}
