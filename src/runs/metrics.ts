import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DeferredCounter } from '../base/telemetry/deferred-counter.ts';
import { isBuiltinTool } from '../config/builtin-tools.ts';
import type { ObservedToolCall } from '../research/run/run.ts';
import type { RunRecord, TerminalStatus } from '../store/run-store.ts';
import type { AttemptReport } from '../upstream/routing/attempts.ts';
import type { LoadMeter } from './load-meter.ts';

/** What gauges read when the metrics are collected. */
interface GaugeSources {
  load: LoadMeter;
  active(): number;
  waiting(): number;
  overloaded(): boolean;
}

/**
 * Prometheus metrics of runs, their tools and their providers. Labels come from the configuration, never
 * from what clients send: tools of MCP servers count together.
 */
export class RunMetrics {
  readonly #ended: Counter<'model' | 'status'>;
  readonly #seconds: Histogram<'model'>;
  readonly #cost: Counter<'model' | 'currency'>;
  readonly #executions: Counter<'result'>;
  readonly #toolCalls: Counter<'tool' | 'status'>;
  readonly #toolSeconds: Histogram<'tool'>;
  readonly #attempts: DeferredCounter;
  readonly #attemptSeconds: Histogram<'provider'>;

  constructor(registry: Registry, options: GaugeSources) {
    const registers = [registry];
    this.#ended = new Counter({
      name: 'gateway_runs_ended_total',
      help: 'Runs ended by this instance.',
      labelNames: ['model', 'status'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'gateway_run_duration_seconds',
      help: 'Time from the submission of a run to its end.',
      labelNames: ['model'],
      buckets: [1, 5, 15, 60, 180, 600, 1800, 3600],
      registers,
    });
    this.#cost = new Counter({
      name: 'gateway_run_cost_total',
      help: 'What ended runs cost, in the configured currency, where their routes have prices.',
      labelNames: ['model', 'currency'],
      registers,
    });
    this.#executions = new Counter({
      name: 'gateway_runs_left_total',
      help: 'How executions left their run: ended, released to another instance, or lost.',
      labelNames: ['result'],
      registers,
    });
    this.#toolCalls = new Counter({
      name: 'gateway_tool_calls_total',
      help: 'Tool calls executed.',
      labelNames: ['tool', 'status'],
      registers,
    });
    this.#toolSeconds = new Histogram({
      name: 'gateway_tool_call_duration_seconds',
      help: 'Time of tool calls.',
      labelNames: ['tool'],
      buckets: [0.05, 0.25, 1, 3, 10, 30, 120],
      registers,
    });
    this.#attempts = new DeferredCounter({
      name: 'gateway_provider_attempts_total',
      help: 'Attempts at a route of a provider; left: the client was gone first.',
      labelNames: ['provider', 'model', 'outcome'],
      registry,
    });
    this.#attemptSeconds = new Histogram({
      name: 'gateway_provider_attempt_duration_seconds',
      help: 'Time of attempts to their end.',
      labelNames: ['provider'],
      buckets: [0.1, 0.5, 1, 3, 10, 30, 120, 600],
      registers,
    });
    addGauges(registers, options);
  }

  /** Counts an execution that no longer drives its run, and the run if it has ended. */
  executionEnded(run: RunRecord, outcome: { result: string; status: TerminalStatus | undefined; now: number }): void {
    this.#executions.inc({ result: outcome.result });
    if (!outcome.status) return;
    this.#ended.inc({ model: run.model, status: outcome.status });
    this.#seconds.observe({ model: run.model }, (outcome.now - run.createdAt) / 1000);
  }

  /** Adds the cost of an ended run. */
  cost(model: string, total: number, currency: string): void {
    this.#cost.inc({ model, currency }, total);
  }

  toolCall(call: ObservedToolCall): void {
    const tool = labelOf(call.name);
    this.#toolCalls.inc({ tool, status: call.status });
    this.#toolSeconds.observe({ tool }, call.ms / 1000);
  }

  attempt({ provider, model, outcome, durationMs }: AttemptReport): void {
    this.#attempts.add(1, provider, model, outcome);
    this.#attemptSeconds.observe({ provider }, durationMs / 1000);
  }
}

/** A label for each of the gateway's own tools, and one for all tools of MCP servers. */
function labelOf(name: string): string {
  if (isBuiltinTool(name) || name === 'file_search') return name;
  return name.includes('.') ? 'mcp' : 'unknown';
}

function addGauges(registers: Registry[], { load, active, waiting, overloaded }: GaugeSources): void {
  const gauge = (name: string, help: string, read: () => number, options: { aggregator?: 'max' } = {}) =>
    new Gauge({
      ...options,
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('gateway_runs_executing', 'Runs that this instance drives now.', active);
  gauge(
    'gateway_runs_waiting',
    'Chats with research models that wait here for their turn; in progress by the store.',
    waiting,
  );
  // For several processes, take the busiest: a sum of shares or delays is meaningless.
  const busiest = { aggregator: 'max' } as const;
  gauge(
    'gateway_event_loop_utilization_ratio',
    'Share of the time in which the event loop works, over the last tenth of a second.',
    () => load.utilization,
    busiest,
  );
  gauge(
    'gateway_event_loop_delay_seconds',
    'How late the event loop comes to what is due; new work is refused from 0.25 on.',
    () => load.lagMs / 1000,
    busiest,
  );
  gauge(
    'gateway_overloaded',
    '1 while queued runs are held back because this instance is at capacity.',
    () => (overloaded() ? 1 : 0),
    busiest,
  );
}
