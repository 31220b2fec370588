import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { CitedAnswer } from '../answer/cited-answer.ts';
import { piecesOf } from '../run/live-steps.ts';

/** What is read between two turns of others, in UTF-16 code units: each claim in it is held against its sources. */
const AT_ONCE = 256;

/** A text that is shown in one piece, as its reader gets it. */
export async function citedWhole(
  cited: CitedAnswer,
  text: string,
): Promise<{ delta: string; annotations: UrlCitation[]; unknown: number[] }> {
  const whole = { delta: '', annotations: [] as UrlCitation[], unknown: [] as number[] };
  const add = (more: ReturnType<CitedAnswer['push']>) => {
    whole.delta += more.text;
    whole.annotations.push(...more.annotations);
    whole.unknown.push(...more.unknown);
  };
  for (const piece of piecesOf(text, AT_ONCE)) {
    add(cited.push(piece));
    await yieldToEventLoop();
  }
  add(cited.end());
  return whole;
}
