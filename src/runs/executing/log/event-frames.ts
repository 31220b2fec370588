import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { TokenLogprob } from '../../../protocol/items.ts';
import type { TextDelta } from '../../projections/fold.ts';

/** Events as the log has them: a frame each, whose bytes never change again. */

/** Deltas of one item that arrived together become one event. */
export interface PendingDelta {
  type: TextDelta;
  itemId: string;
  outputIndex: number;
  delta: string;
  /** Of an answer whose request asked for them. */
  logprobs?: TokenLogprob[] | undefined;
}

/** `rest`: the payload after `sequence_number`, from its first key to the closing brace. */
export function eventFrame({ type, rest }: { type: string; rest: string }, number: number): string[] {
  return [`event: ${type}\ndata: {"type":"${type}","sequence_number":${number},`, rest, '\n\n'];
}

export function deltaFrame(delta: PendingDelta, number: number): string {
  const tail =
    delta.type === 'response.output_text.delta' ? `,"logprobs":${JSON.stringify(delta.logprobs ?? [])}}` : '}';
  const part = delta.type === 'response.reasoning_summary_text.delta' ? 'summary_index' : 'content_index';
  return `event: ${delta.type}\ndata: {"type":"${delta.type}","sequence_number":${number},"item_id":"${delta.itemId}","output_index":${delta.outputIndex},"${part}":0,"delta":${JSON.stringify(delta.delta)}${tail}\n\n`;
}

/** Frames 1, 2, ... of events, joined: how a new log begins. */
export function firstFrames(events: readonly UnnumberedEvent[]): Uint8Array {
  return joinedBytes(
    events.flatMap(({ type, ...payload }, index) =>
      eventFrame({ type, rest: JSON.stringify(payload).slice(1) }, index + 1),
    ),
  );
}

/** Texts that are longer are not joined to others as texts, in UTF-16 code units. */
const LONG = 32 * 1024;

/**
 * The bytes of texts, one behind the other. Short ones are joined first, which is faster; long ones go where they belong:
 * the last event of a run holds all that its tools said, and would be there as text twice.
 */
export function joinedBytes(texts: Iterable<string>): Buffer {
  const pieces: string[] = [];
  let short = '';
  for (const text of texts) {
    if (text.length <= LONG) short += text;
    else {
      pieces.push(short, text);
      short = '';
    }
  }
  if (pieces.length === 0) return Buffer.from(short);
  pieces.push(short);
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  pieces.reduce((at, piece) => at + bytes.write(piece, at), 0);
  return bytes;
}
