import { type Carried, carries } from '../../../src/research/claims/support.ts';
import { parseSentence } from '../../../src/research/claims/text/parsed.ts';
import { SourceText } from '../../../src/research/claims/text/source-text.ts';
import { type ClaimFile, type ClaimPair, readPairs } from './pairs.ts';

/** How many pairs of a kind were judged rightly. */
export interface ClaimScore {
  kind: string;
  pairs: number;
  right: number;
}

export interface ClaimScores {
  file: ClaimFile;
  pairs: number;
  /** The part of what is invented that is doubted, and of what is supported that is doubted, from 0 to 1. */
  found: number;
  doubted: number;
  kinds: ClaimScore[];
  languages: ClaimScore[];
}

/** Judges the pairs of a file. `onWrong` is told of each that is judged wrongly. */
export async function scoreClaims(
  file: ClaimScores['file'],
  onWrong: (pair: ClaimPair, carried: Carried) => void = () => {},
): Promise<ClaimScores> {
  const pairs = await readPairs(file);
  const judged = pairs.map((pair) => {
    const source = SourceText.open({ title: pair.subject, text: pair.passage });
    const carried = carries(parseSentence(pair.sentence), source);
    const isRight = (carried.support === 'quoted') === (pair.kind === 'supported');
    if (!isRight) onWrong(pair, carried);
    return { ...pair, isRight };
  });
  const [supported, invented] = [true, false].map((is) => judged.filter(({ kind }) => (kind === 'supported') === is));
  return {
    file,
    pairs: pairs.length,
    found: rightPart(invented ?? []),
    doubted: 1 - rightPart(supported ?? []),
    kinds: scoresBy(judged, ({ kind }) => kind),
    languages: scoresBy(judged, ({ language }) => language),
  };
}

function rightPart(judged: readonly { isRight: boolean }[]): number {
  return judged.length === 0 ? 1 : judged.filter(({ isRight }) => isRight).length / judged.length;
}

function scoresBy<T extends { isRight: boolean }>(judged: readonly T[], key: (each: T) => string): ClaimScore[] {
  return [...Map.groupBy(judged, key)]
    .map(([kind, each]) => ({ kind, pairs: each.length, right: each.filter(({ isRight }) => isRight).length }))
    .sort((a, b) => (a.kind < b.kind ? -1 : 1));
}
