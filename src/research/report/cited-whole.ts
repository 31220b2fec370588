import type { UrlCitation } from '../../protocol/items.ts';
import { type CitedAnswer, type CitedText, citedInSlices } from '../answer/cited-answer.ts';
import { piecesOf } from '../run/live-steps.ts';

/** A text that is shown in one piece, as its reader gets it. */
export async function citedWhole(
  cited: CitedAnswer,
  text: string,
): Promise<{ delta: string; annotations: UrlCitation[]; unknown: number[] }> {
  const { text: delta, annotations, unknown } = await citedInSlices(stepsOf(cited, text));
  return { delta, annotations, unknown };
}

function* stepsOf(cited: CitedAnswer, text: string): Generator<CitedText> {
  for (const piece of piecesOf(text)) yield* cited.pushInSteps(piece);
  yield* cited.endInSteps();
}
