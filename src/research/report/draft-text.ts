import type { UrlCitation } from '../../protocol/items.ts';
import { noUsage } from '../../upstream/turn.ts';
import { type AnswerOptions, unknownSourcesStep, type WrittenText } from '../answer/answer-steps.ts';
import { type BufferedText, collectText } from '../answer/buffered-text.ts';
import type { CitedAnswer } from '../answer/cited-answer.ts';
import type { StreamedText } from '../answer/stream-text.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import { EmptyAnswer, NoAnswerInTime } from '../run/no-answer.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { DraftEntry } from '../run/transcript.ts';
import { checkText } from './check-claims.ts';

/** Whether the model verifies its sentences (`research.verify`). */
export function verifiesClaims({ request, state }: ResearchRun): boolean {
  return state.sources.size > 0 && (request.verify ?? request.effort === 'high');
}

/** A text that is not sent before it is verified. */
export interface DraftOptions extends Pick<BufferedText, 'limit' | 'ask'>, Pick<StreamedText, 'isPart'> {
  claims: ClaimChecker;
  /** How much of the answer is sent already, in UTF-16 code units. */
  sentLength: number;
}

/**
 * Writes a text and verifies it. Its parts are stored, so after a crash they are neither written nor paid for again.
 * @throws GatewayError
 */
export async function* draftText(
  run: ResearchRun,
  answering: AnswerOptions,
  { claims, limit, sentLength, ask, isPart = false }: DraftOptions,
): AsyncGenerator<Step, WrittenText> {
  const { report } = run.state;
  const step = (entry: Omit<DraftEntry, 't'>): Step => ({
    type: 'note',
    entry: applyEntry(run.state, { t: 'draft', ...entry }),
  });
  for (let tries = 0; !report.draft?.whole; tries++) {
    try {
      const draft = yield* collectText(run, answering, {
        limit,
        sentLength,
        before: report.draft?.text ?? '',
        ask: (how) => ask({ ...how, again: tries > 0 }),
        part: (text, usage) => step({ text, usage, whole: false }),
      });
      const text = draft.text.slice(report.draft?.text.length ?? 0);
      const isEmpty = draft.text.trim() === '';
      yield step({ text, usage: draft.usage, whole: !isEmpty, ...(draft.cut ? { cut: draft.cut } : {}) });
      if (isEmpty && tries > 0) throw EmptyAnswer.twice();
    } catch (thrown) {
      if (!isPart || !(thrown instanceof EmptyAnswer || thrown instanceof NoAnswerInTime)) throw thrown;
      yield step({ text: '', usage: noUsage(), whole: true, cut: thrown.cut });
    }
  }
  const { text, cut = null } = report.draft;
  if (!report.checked) yield* checkText(run, answering, { text, claims, sentLength });
  claims.accept(report.checked?.accepted ?? []);
  return { text: report.checked?.text ?? '', cut };
}

/** A verified text as the client reads it. Yields a warning about cited numbers that belong to no source. */
export async function* citeDraft(
  run: ResearchRun,
  { cited, text }: { cited: CitedAnswer; text: string },
): AsyncGenerator<Step, { delta: string; annotations: UrlCitation[] }> {
  const { text: delta, annotations, unknown } = await cited.whole(text);
  if (unknown.length > 0) yield unknownSourcesStep(run, unknown);
  return { delta, annotations };
}
