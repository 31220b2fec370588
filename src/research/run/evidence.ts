/**
 * The evidence of a run: every finding is a record in the transcript, written once, when it was found. Whatever is sent
 * to the model later is chosen from these records; a shorter one is never made into one that is shorter still.
 */
export interface EvidenceRecord {
  /** The research turn in which it was found, counted from 1. */
  turn: number;
  /** Who wrote it down: the extractive digest of a tool result, the reader of long pages, or the model itself. */
  by: 'tool' | 'reader' | 'model';
  /** The number of its source, or null where it names none. */
  source: number | null;
  /** The words of the source as they stand there, or '' where a note has none. */
  quote: string;
  /** Where the quote begins in the text of its source, in UTF-16 code units; null where that is not known. */
  at: number | null;
  /** What it says about the question, in the words of the model or the reader; '' where the quote says it. */
  note: string;
  /** How much it tells about the question, compared to the others. */
  weight: number;
}

export function recordText({ quote, note }: EvidenceRecord): string {
  return note === '' ? quote : note;
}

/** The records that tell most, in their order, whose texts together have so many UTF-16 code units at most. */
export function tellingMost(records: readonly EvidenceRecord[], most: number): EvidenceRecord[] {
  let left = most;
  const chosen = new Set<EvidenceRecord>();
  for (const record of records.toSorted((a, b) => b.weight - a.weight)) {
    left -= recordText(record).length;
    if (left < 0) break;
    chosen.add(record);
  }
  return records.filter((record) => chosen.has(record));
}
