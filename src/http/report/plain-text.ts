import { decodeHTML } from 'entities/decode';
import type { Token } from 'marked';

/** What a reader sees of inline Markdown, without its marks. */
export function textOfTokens(tokens: readonly Token[]): string {
  return tokens.map(shown).join('');
}

function shown(token: Token): string {
  if (token.type === 'br') return '\n';
  if (token.type === 'codespan') return token.text;
  if (token.type === 'formula') return token.source;
  if (token.type !== 'image' && 'tokens' in token && token.tokens) return textOfTokens(token.tokens);
  return 'text' in token ? decodeHTML(token.text) : '';
}
