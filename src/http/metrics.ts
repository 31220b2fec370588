import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type FairSemaphore, semaphoreRefusals } from '../base/fair-semaphore.ts';
import { DeferredCounter } from '../base/telemetry/deferred-counter.ts';
import type { Runs } from '../runs/runs.ts';
import type { LongAnswers } from './limits/long-answers.ts';
import type { RequestContext } from './request-context.ts';

interface MeasuredParts {
  runs: Pick<Runs, 'countOpen'>;
  bodies: Pick<FairSemaphore, 'held'>;
  longAnswers: Pick<LongAnswers, 'total'>;
}

/** Metrics of the HTTP floor. Labels come from the configuration and the routes, never from what clients send. */
export class HttpMetrics {
  readonly #durations = new Map<string, Histogram.Internal<'route'>>();
  readonly #requests: DeferredCounter;
  readonly #seconds: Histogram<'route'>;
  readonly #disconnects: Counter<'route'>;
  readonly #refused: Counter<'code'>;
  readonly #streams: Gauge;
  readonly #cost: Counter<'model' | 'currency'>;

  constructor(registry: Registry, parts: MeasuredParts) {
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers });
    const gauge = (name: string, help: string, value?: () => number) => {
      const collect = value && { collect: (): void => created.set(value()) };
      const created: Gauge = new Gauge({ name, help, registers, ...collect });
      return created;
    };
    this.#requests = new DeferredCounter({
      name: 'gateway_http_requests_total',
      help: 'HTTP requests answered.',
      labelNames: ['route', 'model', 'method', 'status'],
      registry,
    });
    this.#seconds = new Histogram({
      name: 'gateway_http_request_duration_seconds',
      help: 'Time to the end of the answer; streams last as long as their run.',
      labelNames: ['route'],
      buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300, 1200],
      registers,
    });
    const leftHelp = 'Requests whose client left before the answer was complete.';
    this.#disconnects = counter('gateway_http_clients_left_total', leftHelp, ['route']);
    this.#refused = counter('gateway_http_refused_total', 'Requests refused, by error code.', ['code']);
    const cost = 'What calls of proxy models cost, in the configured currency, where their routes have prices.';
    this.#cost = counter('gateway_proxy_cost_total', cost, ['model', 'currency']);
    this.#streams = gauge('gateway_sse_streams', 'Streams that are open.');
    const { runs, bodies, longAnswers } = parts;
    gauge('gateway_held_answer_bytes', 'Memory of long answers that are being read.', () => longAnswers.total);
    gauge('gateway_body_bytes', 'Memory of bodies that are being read or answered.', () => bodies.held);
    new Gauge({
      // Read from the store that all processes share: their sum would count each run once for every process.
      aggregator: 'max',
      name: 'gateway_runs_open',
      help: 'Runs that have not ended.',
      labelNames: ['state'],
      registers,
      async collect() {
        const open = await runs.countOpen().catch(() => undefined);
        if (!open) return this.reset();
        this.set({ state: 'queued' }, open.queued);
        this.set({ state: 'in_progress' }, open.inProgress);
      },
    });
  }

  /** The histogram of a route, cached because a lookup by labels is slow. */
  #secondsOf(route: string): Histogram.Internal<'route'> {
    return this.#durations.getOrInsertComputed(route, () => this.#seconds.labels({ route }));
  }

  /** Counts a request that was answered, or whose client disconnected. */
  count(context: RequestContext, { method, status }: { method: string; status: number }): void {
    const { route, model } = context;
    this.#requests.add(1, route, model, METHODS.has(method) ? method : 'other', String(status));
    this.#secondsOf(route).observe((performance.now() - context.startedAt) / 1000);
    if (context.disconnected) this.#disconnects.inc({ route });
    if (context.error !== '') this.#refused.inc({ code: context.error });
  }

  /** Adds the cost of a proxied call. */
  cost(model: string, total: number, currency: string): void {
    this.#cost.inc({ model, currency }, total);
  }

  /** Counts a stream as open until disposed. */
  stream(): Disposable {
    this.#streams.inc();
    return { [Symbol.dispose]: () => this.#streams.dec() };
  }
}

/** Counts refusals by the name of the bound that was reached, until disposed. */
export function countRefusals(registry: Registry): Disposable {
  const refused = new Counter({
    name: 'gateway_bounds_refused_total',
    help: 'Work that was refused because too much of its kind was under way.',
    labelNames: ['bound'],
    registers: [registry],
  });
  const count = (name: unknown) => refused.inc({ bound: String(name) });
  semaphoreRefusals.subscribe(count);
  return { [Symbol.dispose]: () => void semaphoreRefusals.unsubscribe(count) };
}

/** Returns a function that counts embedding requests of the local search. */
export function countEmbeddings(registry: Registry): (purpose: string, outcome: string) => void {
  const embedded = new Counter({
    name: 'gateway_search_embeddings_total',
    help: 'Requests for embeddings of the local search, for queries and for documents.',
    labelNames: ['for', 'outcome'],
    registers: [registry],
  });
  return (purpose, outcome) => embedded.inc({ for: purpose, outcome });
}

/** Returns a function that adds up how long steps have blocked the event loop. */
export function countLoopStalls(registry: Registry): (step: string, ms: number) => void {
  const seconds = new Counter({
    name: 'gateway_event_loop_stood_seconds_total',
    help: 'Time for which one step held the event loop, of steps of more than 200 ms.',
    labelNames: ['step'],
    registers: [registry],
  });
  return (step, ms) => seconds.inc({ step }, ms / 1000);
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
