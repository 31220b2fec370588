import { CitedAnswer, type CitedText } from '../../src/research/answer/cited-answer.ts';
import type { PartialAnswer } from '../../src/research/answer/earlier-answer.ts';
import type { MayShow } from '../../src/research/answer/safe-markup.ts';
import { SourceRegistry } from '../../src/research/run/sources.ts';

/** A registry with these addresses as read sources 1, 2, 3. */
export function readSources(...urls: string[]): SourceRegistry {
  const sources = new SourceRegistry();
  sources.add(urls.map((url, index) => ({ url, title: `Title ${index + 1}`, snippet: '', kind: 'read' })));
  return sources;
}

/** Joins the pieces of an answer. */
export function joinCited(pieces: Iterable<CitedText>): CitedText {
  const whole: CitedText = { text: '', annotations: [], unknown: [] };
  for (const { text, annotations, unknown } of pieces) {
    whole.text += text;
    whole.annotations.push(...annotations);
    whole.unknown.push(...unknown);
  }
  return whole;
}

/** Renumbers the markers of an answer that arrives in pieces of `length`, and joins the result. */
export function citedAnswer(
  text: string,
  sources: SourceRegistry,
  { length = 7, begun, mayShow }: { length?: number; begun?: PartialAnswer; mayShow?: MayShow } = {},
): CitedText {
  const answer = new CitedAnswer(sources, begun, mayShow ? { mayShow } : {});
  function* pieces() {
    for (let at = 0; at < text.length; at += length) yield answer.push(text.slice(at, at + length));
    yield answer.end();
  }
  return joinCited(pieces());
}

/** The text that each annotation covers, with the number of its source in tool results. */
export function coveredBy({ text, annotations }: CitedText): [string, number | null][] {
  return annotations.map(({ start_index, end_index, source_id }) => [text.slice(start_index, end_index), source_id]);
}
