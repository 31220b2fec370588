import { findQuote } from '../../../src/research/claims/find-quote.ts';
import { shownPassages } from '../../../src/research/claims/passages.ts';
import { findSupport, type SupportResult, supportOfQuote } from '../../../src/research/claims/support.ts';
import { parseSentence, type Sentence } from '../../../src/research/claims/text/parse-sentence.ts';
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
  /** The same where a model that is right looks at what the check asks it about. */
  withModel: { found: number; doubted: number; asked: number };
  kinds: ClaimScore[];
  languages: ClaimScore[];
}

/** Judges the pairs of a file. `onWrong` is told of each that is judged wrongly. */
export async function scoreClaims(
  file: ClaimScores['file'],
  onWrong: (pair: ClaimPair, carried: SupportResult) => void = () => {},
): Promise<ClaimScores> {
  const pairs = await readPairs(file);
  const judged = pairs.map((pair) => {
    const source = SourceText.open({ title: pair.subject, text: pair.passage });
    const claim = parseSentence(pair.sentence);
    const carried = findSupport(claim, source);
    const isSupported = pair.kind === 'supported';
    const isRight = (carried.support === 'quoted') === isSupported;
    if (!isRight) onWrong(pair, carried);
    const isAsked = carried.support !== 'quoted' || !carried.isCopied;
    return { ...pair, isRight, isAsked, isRightThen: isAsked ? isSettled(pair, claim, { carried, source }) : isRight };
  });
  const [supported, invented] = [true, false].map((is) => judged.filter(({ kind }) => (kind === 'supported') === is));
  return {
    file,
    pairs: pairs.length,
    found: rightPart(invented ?? []),
    doubted: 1 - rightPart(supported ?? []),
    withModel: {
      found: rightPart((invented ?? []).map((each) => ({ isRight: each.isRightThen }))),
      doubted: 1 - rightPart((supported ?? []).map((each) => ({ isRight: each.isRightThen }))),
      asked: judged.filter(({ isAsked }) => isAsked).length / judged.length,
    },
    kinds: scoresBy(judged, ({ kind }) => kind),
    languages: scoresBy(judged, ({ language }) => language),
  };
}

/** Whether a pair ends rightly where the model drops what is invented, and names of what it is shown the words that carry the rest. */
function isSettled(
  { kind }: ClaimPair,
  claim: Sentence,
  { carried, source }: { carried: SupportResult; source: SourceText },
): boolean {
  if (kind !== 'supported' || carried.support === 'quoted') return true;
  return shownPassages(claim, source).some(({ start, end }) => {
    const words = findQuote(claim, source.text.slice(start, end), source);
    return words !== undefined && supportOfQuote(claim, words, source) === 'quoted';
  });
}

function rightPart(judged: readonly { isRight: boolean }[]): number {
  return judged.length === 0 ? 1 : judged.filter(({ isRight }) => isRight).length / judged.length;
}

function scoresBy<T extends { isRight: boolean }>(judged: readonly T[], key: (each: T) => string): ClaimScore[] {
  return [...Map.groupBy(judged, key)]
    .map(([kind, each]) => ({ kind, pairs: each.length, right: each.filter(({ isRight }) => isRight).length }))
    .sort((a, b) => (a.kind < b.kind ? -1 : 1));
}
