import type { ModelConfig } from '../../config/schema.ts';
import type { AttemptFailure } from './attempt-failure.ts';

/** A model's own rules for failing over, which win over the general ones (docs/failover.md, "Rules of a model"). */
export type FailoverRules = Pick<ModelConfig, 'failover_on' | 'failover_off'>;

/** The rules of a model, if it has any: the same object until its configuration changes. */
export function rulesOf(model: ModelConfig): FailoverRules | undefined {
  return model.failover_on === undefined && model.failover_off === undefined ? undefined : model;
}

/** The failure as these rules classify it. A code is more specific than a status and wins over it. */
export function applyRules(
  { failover_on = [], failover_off = [] }: FailoverRules,
  failure: AttemptFailure,
): AttemptFailure {
  const { status, codes } = failure;
  for (const names of [codes, status === undefined ? [] : [status]]) {
    const isIn = (rule: readonly (string | number)[]) => names.some((name) => rule.includes(name));
    if (isIn(failover_off)) return withoutFailover(failure);
    if (isIn(failover_on)) return withFailover(failure);
  }
  return failure;
}

/** The client gets this failure, and the route stays healthy. A wrong credential is never the client's fault. */
function withoutFailover(failure: AttemptFailure): AttemptFailure {
  const blames = failure.blames === 'credential' ? 'credential' : 'request';
  return failure.with({ advice: 'never', blames, unhealthy: false });
}

function withFailover(failure: AttemptFailure): AttemptFailure {
  const advice = failure.advice === 'never' ? 'elsewhere' : failure.advice;
  return failure.with({ advice, blames: failure.blames === 'credential' ? 'credential' : 'route' });
}
