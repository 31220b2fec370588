import type { Redactor } from '../../base/logger.ts';
import { withoutTrailing } from '../../base/text.ts';
import { oneLine } from '../printable.ts';

/** The result of checking one part of the setup. */
export interface Finding {
  /** `note`: it works, but the operator should know; `wrong`: the gateway cannot work like this. */
  state: 'ok' | 'note' | 'wrong';
  about: string;
  detail: string;
  /** What to do if it is wrong. */
  fix?: string;
}

/** A finding on a line of its own, without secrets. */
export function findingLine({ state, about, detail, fix }: Finding, redactor: Redactor): string {
  const text = `${about}: ${fix === undefined ? detail : `${withoutTrailing(detail, '.')}. Fix: ${fix}`}`;
  return `${state.padEnd(5)} ${redactor.redact(oneLine(text))}`;
}
