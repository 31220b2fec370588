import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { sourceIdIn } from '../context/result-records.ts';
import { type EvidenceRecord, mostRelevant } from '../run/evidence.ts';
import type { ResultEntry } from '../run/transcript.ts';
import { relevanceOf, splitSentences } from '../text/key-facts.ts';

/** The reader's notes on a piece of a page. */
export interface PieceNotes {
  /** Short lines. */
  notes: string;
  /** The piece, and where it starts in its page, in UTF-16 code units. */
  text: string;
  from: number;
}

/** How much is retained of one page, in UTF-16 code units. */
const MAX_LENGTH = 2400;
const BULLET = /^\s*(?:[-*•+]|\d{1,2}[.)])\s+/;

/** The reader's notes on a page as records. A line that is verbatim in the page becomes a quote with its position. */
export function readerRecords(
  pieces: readonly PieceNotes[],
  call: { result: Pick<ResultEntry, 'result'>; args: JsonObject; turn: number; about: ReadonlySet<string> },
): EvidenceRecord[] {
  const { result, args, turn, about } = call;
  const page = parseJson(result.result);
  const source = isObject(page) ? sourceIdIn(page.source_id) : null;
  const offset = Number.isSafeInteger(args.offset) ? Math.max(0, Number(args.offset)) : 0;
  const records = pieces.flatMap(({ notes, text, from }) =>
    splitSentences(notes).flatMap((line): EvidenceRecord[] => {
      const note = line.replace(BULLET, '').trim();
      if (note === '') return [];
      const place = text.indexOf(note);
      const base = { turn, by: 'reader' as const, source, weight: relevanceOf(note, about) };
      return [
        place === -1
          ? { ...base, quote: '', at: offset + from, note }
          : { ...base, quote: note, at: offset + from + place, note: '' },
      ];
    }),
  );
  return mostRelevant(records, MAX_LENGTH);
}
