import type { Conversation } from './conversation.ts';
import { choosePassages, rankPassages } from './passages.ts';
import { keywordsOf } from './words.ts';

const MAX_QUOTES = 6;

const WRITTEN_BY = '_Written by the demo model: a small program that quotes what it finds, not a language model._';

/** The whole answer. The same messages give the same text: a cut answer is continued by writing it again. */
export function demoAnswer(conversation: Conversation): string {
  if (conversation.toolResults === 0 && conversation.documents.length === 0)
    return answerWithoutDocuments(conversation.question);
  const keywords = keywordsOf(conversation.question);
  const quotes = choosePassages(rankPassages(conversation.documents, keywords), MAX_QUOTES);
  if (quotes.length === 0) return answerWithoutFindings(conversation, keywords);
  const best = [...Map.groupBy(quotes, (quote) => quote.document)];
  const bullets = best.flatMap(([document, passages]) =>
    passages.sort((a, b) => a.position - b.position).map((passage) => `- ${passage.text} [${document.sourceId}]`),
  );
  const reading = best.map(([document]) => `- ${document.title} [${document.sourceId}]`);
  return [
    `What the documents say about ${list(keywords.slice(0, 5))}:`,
    bullets.join('\n'),
    ['To read on:', ...reading].join('\n'),
    WRITTEN_BY,
  ].join('\n\n');
}

function answerWithoutFindings({ documents }: Conversation, keywords: readonly string[]): string {
  const seen = documents.slice(0, 3).map((document) => `${document.title} [${document.sourceId}]`);
  const near = seen.length > 0 ? ` The nearest documents were ${seen.join(', ')}.` : '';
  return (
    `I searched the documents for ${list(keywords)} and found nothing that answers the question.${near}\n\n` +
    WRITTEN_BY
  );
}

function answerWithoutDocuments(question: string): string {
  const about = keywordsOf(question);
  const heard = about.length > 0 ? ` I can tell that this is about ${list(about)}, but` : ' But';
  return (
    'This is the demo model: a small program, not a language model.' +
    `${heard} I know nothing by myself and got no documents with this request. ` +
    'Ask a research model of this gateway, which searches documents for me, or configure a provider.'
  );
}

/** `a, b and c`. */
export function list(words: readonly string[]): string {
  if (words.length === 0) return 'this';
  return words.length === 1 ? String(words[0]) : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
