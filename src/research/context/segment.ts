import type { TurnMessage, UserPart } from '../../upstream/turn.ts';
import type { ResearchState } from '../run/state.ts';
import type { NoteEntry, PlannedCall, ReminderEntry, ResultEntry, TurnEntry } from '../run/transcript.ts';
import type { Fence } from '../text/fence.ts';

/**
 * The part of the transcript that is sent in full: turns with their results, and what the gateway said, since the last
 * compaction. It only grows, and nothing in it is ever reworded.
 */
export interface Segment {
  /** The notes of a fresh attempt, or the message about lanes that ended. */
  notes: string | undefined;
  /** The findings before it, one block for each compaction. */
  blocks: readonly string[];
  /** The first turn that is sent in full, counted from 0 over the whole run. */
  from: number;
  /** Shortened results, by call number. */
  shortened: Readonly<Record<number, string>>;
  /** The tokens that the opening is fitted into; undefined if it was never fitted again. */
  room: number | undefined;
  parts: readonly SegmentPart[];
}

export interface SegmentPart {
  entry: TurnEntry | NoteEntry | ReminderEntry;
  /** The messages that preceded it originally are no longer sent. */
  rebased: boolean;
}

export function lastSegment({ entries, lane }: ResearchState): Segment {
  let notes: string | undefined;
  let blocks: string[] = [];
  let from = 0;
  let shortened: Segment['shortened'] = {};
  let room: number | undefined;
  let parts: SegmentPart[] = [];
  let turns = 0;
  for (const entry of entries) {
    if (entry.t === 'turn') turns++;
    // Turns of lanes are only sent as findings.
    if (entry.lane !== lane) continue;
    if (entry.t === 'turn' || entry.t === 'note' || entry.t === 'reminder') parts.push({ entry, rebased: false });
    if (entry.t === 'restart') {
      notes = entry.notes;
      blocks = entry.findings ? [entry.findings] : [];
      from = turns;
      shortened = {};
      parts = [];
    }
    if (entry.t === 'joined') {
      if (entry.findings !== '') blocks.push(entry.findings);
      from = entry.from;
      shortened = {};
      notes = entry.text;
      parts = [];
    }
    if (entry.t === 'compaction') {
      if (entry.anew) blocks = [];
      if (entry.findings !== '') blocks.push(entry.findings);
      from = entry.from;
      shortened = entry.shortened;
      room = entry.room;
      parts = lastTurns(parts, turns - from).map((part) => ({ ...part, rebased: true }));
    }
  }
  return { notes, blocks, from, shortened, room, parts };
}

/** The last `keep` turns with everything after the first of them; for `keep` 0, what follows the last turn. */
export function lastTurns<P extends Pick<SegmentPart, 'entry'>>(parts: readonly P[], keep: number): P[] {
  const places = parts.flatMap(({ entry }, index) => (entry.t === 'turn' ? [index] : []));
  return parts.slice(keep <= 0 ? (places.at(-1) ?? -1) + 1 : (places.at(-keep) ?? 0));
}

export function messagesOf(
  { entry, rebased }: SegmentPart,
  context: { state: ResearchState; fence: Fence; whole: ReadonlySet<number>; shortened: Segment['shortened'] },
): TurnMessage[] {
  if (entry.t !== 'turn') return [withImages(entry)];
  const message: TurnMessage = rebased ? { ...entry.message, rebased } : entry.message;
  const results = entry.calls.map((planned) => toolMessage(planned, context));
  const images = entry.calls.flatMap((planned) => {
    if (!('call' in planned) || context.shortened[planned.call] !== undefined) return [];
    return imagesOfResult(planned.name, context.state.results.get(planned.call));
  });
  return [message, ...results, ...images];
}

/** Few wires accept images in a tool result, so they follow the results of the turn. */
export function imagesOfResult(name: string, { images }: Pick<ResultEntry, 'images'> = {}): TurnMessage[] {
  return images ? [withImages({ text: `Images of the result of ${name}:`, images })] : [];
}

/** A message of the user. */
export function withImages({ text, images = [] }: Pick<ResultEntry, 'images'> & { text: string }): TurnMessage {
  if (images.length === 0) return { role: 'user', content: text };
  const parts = images.map((url): UserPart => ({ type: 'image_url', image_url: { url } }));
  return { role: 'user', content: text.trim() === '' ? parts : [{ type: 'text', text }, ...parts] };
}

/** The calls whose results a segment has in full. */
export function wholeCalls({ parts, shortened }: Pick<Segment, 'parts' | 'shortened'>): Set<number> {
  const calls = parts.flatMap(({ entry }) => (entry.t === 'turn' ? entry.calls : []));
  return new Set(calls.flatMap((planned) => ('call' in planned && !shortened[planned.call] ? [planned.call] : [])));
}

/** The messages of results, cached so that each is fenced and measured once, not for every request of its run. */
const wholeResults = new WeakMap<ResultEntry, TurnMessage>();

/**
 * The message of a result. If the fence left the text unchanged, the entry's text becomes a slice of this message, so
 * that V8 stores the characters only once.
 */
export function toolResultMessage(entry: ResultEntry, { id, fence }: { id: string; fence: Fence }): TurnMessage {
  const known = wholeResults.get(entry);
  if (known) return known;
  const content = fence.around(entry.result);
  const start = content.indexOf('\n') + 1;
  const piece = content.slice(start, start + entry.result.length);
  if (piece === entry.result) entry.result = piece;
  const message: TurnMessage = { role: 'tool', tool_call_id: id, content };
  wholeResults.set(entry, message);
  return message;
}

/** The result of a call. A refused repeat only shows the earlier result if that is not sent in full elsewhere. */
function toolMessage(
  planned: PlannedCall,
  { state, fence, whole, shortened }: Parameters<typeof messagesOf>[1],
): TurnMessage {
  const base = { role: 'tool' as const, tool_call_id: planned.id };
  if ('call' in planned) {
    const entry = state.results.get(planned.call);
    if (entry === undefined) return { ...base, content: 'The call was interrupted.' };
    const shorter = shortened[planned.call];
    if (shorter !== undefined) return { ...base, content: fence.around(shorter) };
    return toolResultMessage(entry, { id: planned.id, fence });
  }
  const { again, refused } = planned;
  const earlier = again === undefined || whole.has(again) ? undefined : state.results.get(again)?.result;
  if (again === undefined || earlier === undefined) return { ...base, content: refused };
  return { ...base, content: `${refused}\n${fence.around(shortened[again] ?? earlier)}` };
}
