import type { GuardName, JoinedEntry, NoteEntry, ReminderEntry, TranscriptEntry, TurnEntry } from './transcript.ts';

/** Something that the model or the gateway said to the other. */
type DialogueEntry = TurnEntry | NoteEntry | ReminderEntry | JoinedEntry;

export function isDialogue(entry: TranscriptEntry): entry is DialogueEntry {
  return entry.t === 'turn' || entry.t === 'note' || entry.t === 'reminder' || entry.t === 'joined';
}

/**
 * How many turns in a row this guard has sent the model a note about, at the end of an attempt or before one of its turns.
 * A turn without a note from any guard ends the row.
 */
export function notesInARow(
  attempt: readonly TranscriptEntry[],
  guard: GuardName,
  { before }: { before?: TurnEntry } = {},
): number {
  const spoken = attempt.filter((entry) => isDialogue(entry));
  const end = before ? spoken.lastIndexOf(before) : spoken.length;
  let notes = 0;
  for (let i = end - 1; i >= 0; i--) {
    const entry = spoken[i];
    if (entry?.t === 'note' && entry.guard === guard) notes++;
    else if (entry?.t === 'note' || spoken[i + 1]?.t !== 'note') break;
  }
  return notes;
}
