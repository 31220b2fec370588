import type { GuardName, JoinedEntry, NoteEntry, ReminderEntry, TranscriptEntry, TurnEntry } from './transcript.ts';

/** What the model or the gateway said to the other. */
type SpokenEntry = TurnEntry | NoteEntry | ReminderEntry | JoinedEntry;

export function isSpoken(entry: TranscriptEntry): entry is SpokenEntry {
  return entry.t === 'turn' || entry.t === 'note' || entry.t === 'reminder' || entry.t === 'joined';
}

/**
 * How often in a row a guard has spoken to the model in an attempt, or in it until a turn: turns that the guard had nothing
 * to say about end the row.
 */
export function toldInARow(
  attempt: readonly TranscriptEntry[],
  guard: GuardName,
  { before }: { before?: TurnEntry } = {},
): number {
  const spoken = attempt.filter((entry) => isSpoken(entry));
  const end = before ? spoken.lastIndexOf(before) : spoken.length;
  let told = 0;
  for (let i = end - 1; i >= 0; i--) {
    const entry = spoken[i];
    if (entry?.t === 'note' && entry.guard === guard) told++;
    else if (entry?.t === 'note' || spoken[i + 1]?.t !== 'note') break;
  }
  return told;
}
