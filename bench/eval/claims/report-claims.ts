import { findSupport } from '../../../src/research/claims/support.ts';
import { parseSentence } from '../../../src/research/claims/text/parse-sentence.ts';
import { SourceText } from '../../../src/research/claims/text/source-text.ts';
import { CLAIM_FILES, readPairs } from './pairs.ts';
import { type ClaimScores, scoreClaims } from './run-claims.ts';

/** What the check costs in milliseconds: so many sentences against so many sources, and the longest single one. */
export interface ClaimCost {
  sentences: number;
  sources: number;
  cpu: number;
  longest: number;
}

/** Judges all files and measures what a long report costs; `isGood` where no limit is missed. */
export async function runClaims({ json }: { json: boolean }): Promise<{ text: string; isGood: boolean }> {
  const scores: ClaimScores[] = [];
  for (const file of CLAIM_FILES) scores.push(await scoreClaims(file));
  // What else the machine does makes the same work slower: the least of three counts.
  const costs = [await measure(), await measure(), await measure()];
  const cost = costs.reduce((least, each) => (each.cpu < least.cpu ? each : least));
  const [made] = scores;
  const isGood = made !== undefined && made.withModel.found >= 0.95 && made.withModel.doubted <= 0.03;
  if (json) return { text: `${JSON.stringify({ scores, cost }, null, 2)}\n`, isGood };
  return { text: `${scores.map(tableOf).join('\n')}\n${costLine(cost)}\n`, isGood };
}

function tableOf({ file, pairs, found, doubted, withModel, kinds, languages }: ClaimScores): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const rows = [...kinds, ...languages].map(
    ({ kind, pairs: all, right }) =>
      `  ${kind.padEnd(12)} ${String(right).padStart(4)} of ${String(all).padStart(4)} right`,
  );
  return `${file}: ${pairs} pairs, invented found ${percent(found)}, supported doubted ${percent(doubted)}\n  with a model that is right: ${percent(withModel.found)} and ${percent(withModel.doubted)}, asked about ${percent(withModel.asked)}\n${rows.join('\n')}\n`;
}

const SENTENCES = 200;
const SOURCES = 60;
/** Passages of each source: pages as they are shown, of some 7 000 characters. */
const PASSAGES = 20;

/** Sentences of the pairs against sources that hold many passages, so that most of each speaks of something else. */
async function measure(): Promise<ClaimCost> {
  const pairs = await readPairs('made-with');
  const passages = [...new Set(pairs.map(({ passage }) => passage))];
  let longest = 0;
  const timed = <T>(work: () => T): T => {
    // What others do on the machine meanwhile is none of it; what is shorter than a tick of the CPU time is less than that.
    const [before, began] = [process.threadCpuUsage(), performance.now()];
    const result = work();
    const passed = performance.now() - began;
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, Math.min(passed, (user + system) / 1000));
    return result;
  };
  const before = process.cpuUsage();
  const sources = Array.from({ length: SOURCES }, (_, i) => {
    const text = Array.from({ length: PASSAGES }, (_, at) => passages[(3 * i + at) % passages.length]).join('\n\n');
    return timed(() => SourceText.open({ title: `Source ${i}`, text }));
  });
  for (let i = 0; i < SENTENCES; i++) {
    const [pair, source] = [pairs[i % pairs.length], sources[i % SOURCES]];
    if (pair && source) timed(() => findSupport(parseSentence(pair.sentence), source));
  }
  const { user, system } = process.cpuUsage(before);
  return { sentences: SENTENCES, sources: SOURCES, cpu: (user + system) / 1000, longest };
}

function costLine({ sentences, sources, cpu, longest }: ClaimCost): string {
  return `${sentences} sentences against ${sources} sources: ${cpu.toFixed(0)} ms of CPU, the longest step ${longest.toFixed(1)} ms`;
}
