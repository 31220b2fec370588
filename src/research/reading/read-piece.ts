import { estimatedUsage, estimateTokens, minTokens } from '../../upstream/decoding/estimate.ts';
import { TurnError, type TurnUsage } from '../../upstream/turn.ts';
import type { ResearchRun } from '../run/run.ts';
import { keyFacts, keywords } from '../text/key-facts.ts';
import { cutPieces } from './pieces.ts';

/** What the reader may write about one piece, in tokens, including its reasoning. */
export const NOTES_TOKENS = 2000;
/** A piece that no model could read is reduced to this much of its own text, in UTF-16 code units. */
const FACTS_LENGTH = 1200;
/** Smaller pieces are not cut again if the reader has less context than configured. */
const MIN_PIECE_TOKENS = 500;

export interface PieceToRead {
  text: string;
  /** Such as `piece 2 of 5`. */
  place: string;
  question: string;
  goal: string;
  spend(usage: TurnUsage): void;
}

/**
 * The reader's notes on one piece of a page; '' if it has nothing of use. A piece that does not fit the reader's context
 * is read in halves; one that cannot be read is reduced to its key facts instead of failing the page.
 */
export async function readPiece(
  run: ResearchRun,
  piece: PieceToRead,
  { signal }: { signal: AbortSignal },
): Promise<string> {
  try {
    const notes = (await askReader(run, piece, { signal })).trim();
    if (notes === '') return factsOf(piece);
    return /^\W*NOTHING\W*$/.test(notes) ? '' : notes;
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof TurnError)) throw thrown;
    piece.spend(thrown.usage);
    const tokens = estimateTokens(piece.text);
    if (thrown.kind === 'context_length' && tokens > MIN_PIECE_TOKENS) {
      const notes: string[] = [];
      for (const text of cutPieces(piece.text, Math.ceil(tokens * 0.6))) {
        notes.push(await readPiece(run, { ...piece, text }, { signal }));
      }
      return notes.filter((note) => note !== '').join('\n');
    }
    run.log.warn({ err: thrown.message }, 'a piece of a page could not be read by a model');
    return factsOf(piece);
  }
}

/** The key facts of a piece that no model reads. */
export function factsOf({ text, question, goal }: Pick<PieceToRead, 'text' | 'question' | 'goal'>): string {
  return keyFacts(text, { about: keywords(`${question} ${goal}`), maxLength: FACTS_LENGTH });
}

async function askReader(run: ResearchRun, piece: PieceToRead, { signal }: { signal: AbortSignal }): Promise<string> {
  const { question, goal, place } = piece;
  const system = run.prompts.read({ question, goal, mark: run.fence.mark });
  const content = `${place}:\n${run.fence.around(piece.text)}`;
  const request = {
    messages: [
      { role: 'system' as const, content: system },
      { role: 'user' as const, content },
    ],
    maxOutputTokens: NOTES_TOKENS,
  };
  let notes = '';
  for await (const part of run.reader.turn(request, { signal })) {
    if (part.type === 'text') notes += part.delta;
    if (part.type === 'finish') {
      piece.spend(part.usage);
      return notes;
    }
    if (minTokens(notes) > NOTES_TOKENS) break;
  }
  piece.spend(estimatedUsage({ estimate: estimateTokens(system + content), text: notes }));
  return notes;
}
