import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { Batch } from '../base/batch.ts';
import type { FairSemaphore } from '../base/fair-semaphore.ts';
import type { Runs } from '../runs/runs.ts';
import type { HeldTexts } from './limits/held-texts.ts';
import type { RequestContext } from './request-context.ts';

/** Requests that are counted together; a look at the metrics counts those that are left. */
const COUNTED_TOGETHER = 128;

/** A request that was answered. */
interface Answered {
  route: string;
  model: string;
  method: string;
  status: number;
  seconds: number;
}

/** Metrics of the HTTP floor. Labels come from the configuration and the routes, never from what clients send. */
export class HttpMetrics {
  readonly #requests: Counter<'route' | 'method' | 'status' | 'model'>;
  /** As many as there are combinations of labels, which are bounded. */
  readonly #counters = new Map<string, Counter.Internal>();
  readonly #seconds: Histogram<'route'>;
  readonly #secondsOf = new Map<string, Histogram.Internal<'route'>>();
  readonly #left: Counter<'route'>;
  readonly #refused: Counter<'code'>;
  readonly #streams: Gauge;
  readonly #cost: Counter<'model' | 'currency'>;
  readonly #ended = new Batch<Answered>((ended) => this.#count(ended), { size: COUNTED_TOGETHER });

  constructor(
    registry: Registry,
    {
      runs,
      bodies,
      heldTexts,
    }: { runs: Pick<Runs, 'countOpen'>; bodies: Pick<FairSemaphore, 'held'>; heldTexts: Pick<HeldTexts, 'total'> },
  ) {
    const registers = [registry];
    const collect = () => this.#ended.flush();
    this.#requests = new Counter({
      name: 'gateway_http_requests_total',
      help: 'HTTP requests answered.',
      labelNames: ['route', 'method', 'status', 'model'],
      registers,
      collect,
    });
    this.#seconds = new Histogram({
      name: 'gateway_http_request_duration_seconds',
      help: 'Time to the end of the answer; streams last as long as their run.',
      labelNames: ['route'],
      buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300, 1200],
      registers,
      collect,
    });
    this.#left = new Counter({
      name: 'gateway_http_clients_left_total',
      help: 'Requests whose client left before the answer was complete.',
      labelNames: ['route'],
      registers,
    });
    this.#refused = new Counter({
      name: 'gateway_http_refused_total',
      help: 'Requests refused, by error code.',
      labelNames: ['code'],
      registers,
    });
    this.#cost = new Counter({
      name: 'gateway_proxy_cost_total',
      help: 'What calls of proxy models cost, in the configured currency, where their routes have prices.',
      labelNames: ['model', 'currency'],
      registers,
    });
    this.#streams = new Gauge({ name: 'gateway_sse_streams', help: 'Streams that are open.', registers });
    new Gauge({
      name: 'gateway_held_answer_bytes',
      help: 'Memory of long answers that are being read.',
      registers,
      collect() {
        this.set(heldTexts.total);
      },
    });
    new Gauge({
      name: 'gateway_body_bytes',
      help: 'Memory of bodies that are being read or answered.',
      registers,
      collect() {
        this.set(bodies.held);
      },
    });
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

  /** Counts a request that was answered, or whose client left. */
  count(context: RequestContext, { method, status }: { method: string; status: number }): void {
    const { route, model } = context;
    const seconds = (performance.now() - context.startedAt) / 1000;
    this.#ended.push({ route, model, method: METHODS.has(method) ? method : 'other', status, seconds });
    if (context.left) this.#left.inc({ route });
    if (context.error !== '') this.#refused.inc({ code: context.error });
  }

  #count({ seconds, ...labels }: Answered): void {
    this.#answered(labels).inc();
    this.#durationsOf(labels.route).observe(seconds);
  }

  /** The counter of these labels, found without a search by labels for each request; so are the durations of a route. */
  #answered(labels: { route: string; model: string; method: string; status: number }): Counter.Internal {
    const { route, model, method, status } = labels;
    const name = `${method} ${status} ${model} ${route}`;
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = this.#requests.labels(labels);
      this.#counters.set(name, counter);
    }
    return counter;
  }

  #durationsOf(route: string): Histogram.Internal<'route'> {
    let durations = this.#secondsOf.get(route);
    if (durations === undefined) {
      durations = this.#seconds.labels({ route });
      this.#secondsOf.set(route, durations);
    }
    return durations;
  }

  /** What a passed call cost. */
  cost(model: string, total: number, currency: string): void {
    this.#cost.inc({ model, currency }, total);
  }

  /** Counts a stream as open until disposed. */
  stream(): Disposable {
    this.#streams.inc();
    return { [Symbol.dispose]: () => this.#streams.dec() };
  }
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
