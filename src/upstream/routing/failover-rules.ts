import type { ModelConfig } from '../../config/schema.ts';
import type { AttemptFailure } from './attempt-failure.ts';

/** What a model's configuration says of failing over, beside what holds for all (docs/failover.md, "Rules of a model"). */
export type FailoverRules = Pick<ModelConfig, 'failover_on' | 'failover_off'>;

/** The rules of a model, if it has any. The same object as long as its configuration is. */
export function rulesOf(model: ModelConfig): FailoverRules | undefined {
  return model.failover_on === undefined && model.failover_off === undefined ? undefined : model;
}

/** A failure as these rules judge it. A code says more than a status and wins over it. */
export function judgedBy(
  { failover_on = [], failover_off = [] }: FailoverRules,
  failure: AttemptFailure,
): AttemptFailure {
  const { status, codes } = failure;
  for (const names of [codes, status === undefined ? [] : [status]]) {
    const isIn = (rule: readonly (string | number)[]) => names.some((name) => rule.includes(name));
    if (isIn(failover_off)) return asAnswer(failure);
    if (isIn(failover_on)) return elsewhere(failure);
  }
  return failure;
}

/** It is the client's to see and says nothing against the route. Who has the wrong credential is no client, though. */
function asAnswer(failure: AttemptFailure): AttemptFailure {
  const blames = failure.blames === 'credential' ? 'credential' : 'request';
  return failure.with({ advice: 'never', blames, unhealthy: false });
}

function elsewhere(failure: AttemptFailure): AttemptFailure {
  const advice = failure.advice === 'never' ? 'elsewhere' : failure.advice;
  return failure.with({ advice, blames: failure.blames === 'credential' ? 'credential' : 'route' });
}
