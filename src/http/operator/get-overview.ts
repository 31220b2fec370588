import { toSeconds } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import { effortLevel } from '../../config/schema/models.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import type { Overview } from '../../protocol/operating/overview.ts';
import { budgetOf } from '../../research/run/budget.ts';
import type { Instance } from '../../store/instances.ts';
import type { ProviderState } from '../../upstream/routing/provider.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps, OperatorParts } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import type { Activity, RecentAttempts } from './activity.ts';

export const OVERVIEW = '/admin/overview';
const LATEST = 50;
/** How many keys are shown with their limits: each one takes calls of the store. */
const MAX_KEYS = 1000;

/**
 * `GET /admin/overview`: the state of the gateway for operators, without secrets. Only for keys with `admin: true`; others
 * get a 404.
 */
export async function getOverview(deps: AppDeps, { identity: { config } }: Call): Promise<Answer> {
  const { operator } = deps;
  if (!operator) throw new GatewayError('not_found', 'There is nothing at this address.');
  return json(await overviewOf(deps, operator, config));
}

async function overviewOf(deps: AppDeps, operator: OperatorParts, config: GatewayConfig): Promise<Overview> {
  const { activity } = operator;
  const [instances, open, { ready, reasons }, keys] = await Promise.all([
    operator.instances.list(),
    // Without the store these numbers are unknown, but then operators need the rest all the more.
    deps.runs.countOpen().catch(() => ({ queued: 0, inProgress: 0 })),
    deps.readiness(),
    Promise.all(config.keys.slice(0, MAX_KEYS).map((key) => keyOf(deps, key))),
  ]);
  return {
    object: 'overview',
    time: toSeconds(deps.clock.now()),
    instance: operator.instance,
    instances: instances.map(instanceOf),
    runs: {
      queued: open.queued,
      in_progress: open.inProgress,
      max_queued: config.runs.max_queued,
      max_concurrent: config.runs.max_concurrent,
    },
    ready,
    reasons,
    providers: operator.providers().map((state) => providerOf(state, { activity, now: deps.clock.now() })),
    keys,
    budgets: budgetsOf(config),
    failures: {
      by_code: activity
        .failuresByCode()
        .map(({ where, code, count, lastAt }) => ({ where, code, count, last_at: toSeconds(lastAt) })),
      latest: activity.failures(LATEST).map((failure) => ({ ...failure, at: toSeconds(failure.at) })),
    },
  };
}

function instanceOf({ id, host, pid, startedAt, executing, memory, recent }: Instance): Overview['instances'][number] {
  return {
    id,
    host,
    pid,
    started_at: toSeconds(startedAt),
    executing,
    memory_mb: Math.round(memory / 1024 ** 2),
    providers: (recent?.attempts ?? []).map(({ provider: name, ...attempts }) => ({ name, ...attemptsOf(attempts) })),
    failures: (recent?.failures ?? []).map(({ lastAt, ...failure }) => ({ ...failure, last_at: toSeconds(lastAt) })),
  };
}

function budgetsOf({ models, runs }: GatewayConfig): Overview['budgets'] {
  const maxMinutes = runs.maxRunMs / 60_000;
  return Object.entries(models).flatMap(([name, model]) => {
    if (model.kind !== 'research') return [];
    return effortLevel.options.map((effort) => {
      const { toolCalls: tool_calls, turns, tokens, minutes, cost = null } = budgetOf(model, effort, { maxMinutes });
      const isDefault = model.research.effort === effort;
      return { model: name, effort, default: isDefault, turns, tool_calls, tokens, minutes, cost };
    });
  });
}

function attemptsOf({ attempts, failed, p50, p95 }: RecentAttempts) {
  return { attempts, failed, p50_ms: p50, p95_ms: p95 };
}

function providerOf(
  state: ProviderState,
  { activity, now }: { activity: Activity; now: number },
): Overview['providers'][number] {
  return {
    name: state.name,
    usable: state.usable,
    running: state.running,
    paused_ms: Math.round(state.pausedMs),
    models: state.models.map(({ model, circuit, retryInMs }) => ({
      model,
      circuit,
      retry_in_ms: Math.round(retryInMs),
    })),
    recent: attemptsOf(activity.attemptsOf(state.name)),
    minutes: activity
      .minutesOf(state.name, now)
      .map(({ at, opened, ...minute }) => ({ at: toSeconds(at), ...attemptsOf(minute), opened })),
  };
}

async function keyOf({ admission }: AppDeps, key: GatewayConfig['keys'][number]): Promise<Overview['keys'][number]> {
  return {
    id: key.id,
    user: key.user ?? key.id,
    admin: key.admin,
    mcp_servers: key.mcp_servers,
    models: key.models ?? null,
    limits: await admission.usage(key),
  };
}
