import { evaluatePart, missedBy, type PartScore, reportParts } from './evaluate-parts.ts';
import { PART_NAMES, type PartName } from './part-pages.ts';

/** The parts of a list such as `dead-links,injection`, or all of them; undefined for a name that is none. */
export function partsOf(list: string): readonly PartName[] | undefined {
  if (list === 'all') return PART_NAMES;
  const named = list.split(',').map((name) => PART_NAMES.find((part) => part === name.trim()));
  return named.includes(undefined) ? undefined : named.filter((name) => name !== undefined);
}

/** Runs the parts, prints their table or their scores as JSON, and says on standard error what they missed. */
export async function runParts(
  names: readonly PartName[],
  options: { seed: number; questions: number; json: boolean; least?: number | undefined },
): Promise<{ isGood: boolean }> {
  const scores: PartScore[] = [];
  for (const name of names) scores.push(await evaluatePart(name, options));
  process.stdout.write(options.json ? `${JSON.stringify(scores, null, 2)}\n` : `${reportParts(scores)}\n`);
  const least = options.least === undefined ? undefined : options.least / 100;
  const missed = scores.flatMap((score) => missedBy(score, least));
  for (const line of missed) process.stderr.write(`${line}\n`);
  return { isGood: missed.length === 0 };
}
