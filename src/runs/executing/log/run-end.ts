import type { ErrorObject } from '../../../base/errors.ts';
import { answerPart, type OutputItem } from '../../../protocol/items.ts';
import type { Plan } from '../../../protocol/plan.ts';
import type { Claims, IncompleteReason, ResponseObject, Usage } from '../../../protocol/response.ts';
import type { Warning } from '../../../protocol/warnings.ts';

/** How a run ended, for the terminal event. Times are whole Unix seconds. */
interface RunEnd {
  output: OutputItem[];
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  error: ErrorObject | null;
  incomplete: IncompleteReason | null;
  plan: Plan | null;
  warnings: Warning[];
  claims: Claims | null;
  usage: Usage;
  /** Null if the run was cancelled before it began. */
  startedAt: number | null;
  completedAt: number;
}

/** The response object of the terminal event. */
export function endedResponse(created: ResponseObject, end: RunEnd): ResponseObject {
  const { output } = end;
  const message = output.findLast((item) => item.type === 'message');
  return {
    ...created,
    started_at: end.startedAt,
    completed_at: end.completedAt,
    status: end.status,
    output,
    output_text: answerPart(message)?.text ?? '',
    usage: end.usage,
    error: end.error,
    incomplete_details: end.incomplete === null ? null : { reason: end.incomplete },
    plan: end.plan,
    warnings: end.warnings,
    claims: end.claims,
  };
}
