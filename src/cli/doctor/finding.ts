import type { Redactor } from '../../base/logger.ts';
import { oneLine } from '../printable.ts';

/** What a look at one part of what is set up here found. */
export interface Finding {
  /** `note`: it works, and should be known; `wrong`: the gateway cannot work so. */
  state: 'ok' | 'note' | 'wrong';
  about: string;
  detail: string;
  /** What to do; for what is wrong. */
  fix?: string;
}

/** A finding on a line of its own, without secrets. */
export function findingLine({ state, about, detail, fix }: Finding, redactor: Redactor): string {
  const text = `${about}: ${detail}${fix === undefined ? '' : `. Fix: ${fix}`}`;
  return `${state.padEnd(5)} ${redactor.redact(oneLine(text))}`;
}
