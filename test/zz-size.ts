import { loadPrompts } from '../src/research/prompts/load-prompts.ts';
import { estimateTokens } from '../src/research/text/tokens.ts';
import { countTokens } from './support/narrow-provider.ts';

const p = loadPrompts();
const s = p.research({
  date: '2026-11-22',
  tools: 'fetch_url_content, web_search',
  effort: 'medium',
  language: 'English',
  instructions: '',
  mark: 'tool_result-abcdefghijkl',
});
console.log('system', estimateTokens(s), countTokens(s));
const a = p.answer({ forced: '', sources: 'none', format: '', notes: '' });
console.log('answer', estimateTokens(a), countTokens(a));
for (const l of [
  '- [12] The access code of chapter 12 is BISON-12.',
  '+ Noted: The keeper of lamp number 12 is called Kasimir Holt the 12th [12].',
  '<tool_result-abcdefghijkl>\n\n</tool_result-abcdefghijkl>',
])
  console.log(l, estimateTokens(l), countTokens(l));
