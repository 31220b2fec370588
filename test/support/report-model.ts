import type { TurnRequest } from '../../src/upstream/turn.ts';
import { lookups } from './research-run.ts';
import { isAnswerTurn, type ScriptedTurn } from './scripted-model.ts';

/** A model that researches some pages and writes a report about them, section by section. */

export interface PlannedSection {
  heading: string;
  aim?: string;
  records?: (number | string)[];
}

export interface ReportScript {
  /** The words that it looks up at first. */
  words?: string[];
  outline: readonly PlannedSection[] | string;
  /** What it writes into the n-th section, counted from 1. `tries`: how often it was asked for that section before. */
  section(number: number, request: TurnRequest, tries: number): ScriptedTurn;
  /** Its verdicts on doubtful sentences. */
  check?(request: TurnRequest): ScriptedTurn;
}

/** The kind of a request in a report's run. */
export function requestKind(request: TurnRequest): 'research' | 'outline' | 'section' | 'check' | 'answer' {
  const [first] = request.messages;
  const system = typeof first?.content === 'string' ? first.content : '';
  if (system.startsWith('You write one section')) return 'section';
  if (system.startsWith('You check sentences')) return 'check';
  if (!isAnswerTurn(request)) return 'research';
  return /plan its sections/.test(JSON.stringify(request.messages.slice(-2))) ? 'outline' : 'answer';
}

/** The number of the section that a request is about. */
export function sectionOf(request: TurnRequest): number {
  return Number(/Write section (\d+) of/.exec(JSON.stringify(request.messages))?.[1]);
}

/** A model that answers requests by a script. */
export function reportModel(script: ReportScript): (request: TurnRequest) => ScriptedTurn {
  const tries = new Map<number, number>();
  return (request) => {
    const kind = requestKind(request);
    if (kind === 'outline') {
      return { text: [typeof script.outline === 'string' ? script.outline : JSON.stringify(script.outline)] };
    }
    if (kind === 'section') {
      const number = sectionOf(request);
      const before = tries.get(number) ?? 0;
      tries.set(number, before + 1);
      return script.section(number, request, before);
    }
    if (kind === 'check') return script.check?.(request) ?? { text: ['[]'] };
    if (kind === 'answer') return { text: ['A short answer [1].'] };
    const isFirst = !request.messages.some(({ role }) => role === 'tool');
    return isFirst ? { calls: lookups(...(script.words ?? ['a', 'b', 'c'])) } : { text: ['I am ready.'] };
  };
}
