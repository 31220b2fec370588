import { z } from 'zod';
import { storedObject } from '../../base/stored-object.ts';

const count = z.int().nonnegative();

/**
 * The evidence of a run: every finding is a record in the transcript, written once, when it is found. Whatever is sent to
 * the model later is chosen from these records, so that no summary is ever made of a summary.
 */
export const evidenceRecord = storedObject({
  /** The research turn in which it was found, counted from 1. */
  turn: count,
  /** Who wrote it down: the extractive digest of a tool result, the reader of long pages, or the model itself. */
  by: z.enum(['tool', 'reader', 'model']),
  /** The number of its source, or null where it names none. */
  source: count.nullable(),
  /** The words of the source, verbatim; '' if there is only a note. */
  quote: z.string(),
  /** Where the quote starts in the text of its source, in UTF-16 code units; null if unknown. */
  at: count.nullable(),
  /** What it says about the question, in the words of the model or the reader; '' if the quote says it. */
  note: z.string(),
  /** How relevant it is to the question, compared to the other records. */
  weight: z.number(),
});
export type EvidenceRecord = z.output<typeof evidenceRecord>;

export function recordText({ quote, note }: EvidenceRecord): string {
  return note === '' ? quote : note;
}

/** The most relevant records that fit into `maxLength` UTF-16 code units together, in their original order. */
export function mostRelevant(records: readonly EvidenceRecord[], maxLength: number): EvidenceRecord[] {
  let left = maxLength;
  const chosen = new Set<EvidenceRecord>();
  for (const record of records.toSorted((a, b) => b.weight - a.weight)) {
    left -= recordText(record).length;
    if (left < 0) break;
    chosen.add(record);
  }
  return records.filter((record) => chosen.has(record));
}
