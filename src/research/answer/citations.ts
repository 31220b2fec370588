import type { SourceRegistry } from '../run/sources.ts';
import { CitedAnswer, type CitedText } from './cited-answer.ts';

/**
 * The citations of a JSON answer: only what its strings say can cite, and names of fields are none. Numbers run
 * through all of it. `keepNumbers`: markers stay as they are.
 */
export function citeJson(text: string, sources: SourceRegistry, options: { keepNumbers?: boolean } = {}): CitedText {
  const answer = new CitedAnswer(sources, undefined, options);
  const cited: CitedText = { text: '', annotations: [], unknown: [] };
  const add = (more: CitedText) => {
    cited.text += more.text;
    cited.annotations.push(...more.annotations);
    cited.unknown.push(...more.unknown);
  };
  let taken = 0;
  for (const { index, 0: string, groups } of text.matchAll(/"(?:[^"\\]|\\.)*"(?<name>\s*:)?/g)) {
    if (groups?.name !== undefined) continue;
    add(answer.pass(text.slice(taken, index)));
    add(answer.push(string));
    add(answer.end());
    taken = index + string.length;
  }
  add(answer.pass(text.slice(taken)));
  return cited;
}
