import { encodeTexts, stringifyInParts } from '../../../base/json-bytes.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { TokenLogprob } from '../../../protocol/items.ts';
import type { TextDelta } from '../../projections/fold.ts';

/** Events as the log holds them: one SSE frame each, whose bytes never change. */

/** Deltas of one item that arrived together and become one event. */
export interface PendingDelta {
  type: TextDelta;
  itemId: string;
  outputIndex: number;
  delta: string;
  /** If the request asked for them. */
  logprobs?: TokenLogprob[] | undefined;
}

/** The JSON of an event after `sequence_number`, from its first key to the closing brace, in one or more pieces. */
export function payloadTexts(payload: object): string[] {
  const [first = '', ...others] = 'response' in payload ? stringifyInParts(payload) : [JSON.stringify(payload)];
  return [first.slice(1), ...others];
}

/** The frame of an event, in pieces. `rest`: see `payloadTexts`. */
export function eventFrame({ type, rest }: { type: string; rest: readonly string[] }, number: number): string[] {
  return [`event: ${type}\ndata: {"type":"${type}","sequence_number":${number},`, ...rest, '\n\n'];
}

export function deltaFrame(delta: PendingDelta, number: number): string {
  const tail =
    delta.type === 'response.output_text.delta' ? `,"logprobs":${JSON.stringify(delta.logprobs ?? [])}}` : '}';
  const part = delta.type === 'response.reasoning_summary_text.delta' ? 'summary_index' : 'content_index';
  return `event: ${delta.type}\ndata: {"type":"${delta.type}","sequence_number":${number},"item_id":"${delta.itemId}","output_index":${delta.outputIndex},"${part}":0,"delta":${JSON.stringify(delta.delta)}${tail}\n\n`;
}

/** The frames of consecutive events, joined. `first`: the number of the first one. */
export function eventFrames(events: readonly UnnumberedEvent[], first = 1): Uint8Array {
  return encodeTexts(
    events.flatMap(({ type, ...payload }, index) => eventFrame({ type, rest: payloadTexts(payload) }, first + index)),
  );
}
