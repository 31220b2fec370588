import { setTimeout as delay } from 'node:timers/promises';
import { webhookHeaders } from '../../src/webhooks/signature.ts';
import { type ReceivedWebhook, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import type { ClientKind, ClientSeen } from './clients.ts';

export const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const PAUSE_MS = 500;
/** Clients whose runs send webhooks: research names a receiver of its own, too. */
const BACKGROUND: ReadonlySet<ClientKind> = new Set(['viewed', 'plain', 'conversation']);

/** The receivers of webhooks in a storm, which fail half the time, and what they received. */
export class WebhookReceivers implements AsyncDisposable {
  readonly #receiver: WebhookReceiver;
  /** Of what was answered with 204, by receiver: the ids of runs. */
  readonly #taken: Map<string, Set<string>>;

  private constructor(receiver: WebhookReceiver, taken: Map<string, Set<string>>) {
    this.#receiver = receiver;
    this.#taken = taken;
  }

  static async start(): Promise<WebhookReceivers> {
    const taken = new Map<string, Set<string>>();
    const failed = new Set<string>();
    const receiver = await startReceiver(({ path, body }) => {
      const id = idIn(body);
      // What fails once is taken the next time: the pauses behind that are minutes.
      if (!failed.has(path + id) && Math.random() < 0.5) {
        failed.add(path + id);
        return 500;
      }
      taken.set(path, (taken.get(path) ?? new Set()).add(id));
      return 204;
    });
    return new WebhookReceivers(receiver, taken);
  }

  /** The receiver of the key. */
  get ofKey(): string {
    return `${this.#receiver.url}/key`;
  }

  /** The receiver that the request of run `n` names. */
  of(n: number): string {
    return `${this.#receiver.url}/run/${n}`;
  }

  get count(): number {
    return this.#receiver.messages.length;
  }

  /** What is wrong once `limitMs` has passed, or everybody was told. */
  async faults(seen: readonly ClientSeen[], limitMs: number): Promise<string[]> {
    // Who waits for the end, or reads it on a socket, is told of it so.
    const runs = seen.flatMap(({ kind, runs }) => (BACKGROUND.has(kind) ? runs : []));
    const until = performance.now() + limitMs;
    const untold = () =>
      runs.flatMap(({ n, id, part }) =>
        ['/key', ...(part === 'research' ? [`/run/${n}`] : [])].flatMap((path) =>
          this.#taken.get(path)?.has(id) ? [] : [`${path} was not told of ${id}`],
        ),
      );
    while (untold().length > 0 && performance.now() < until) await delay(PAUSE_MS);
    const ids = new Map(runs.map(({ n, id, cancelled }) => [id, { path: `/run/${n}`, cancelled }]));
    const strange = this.#receiver.messages.flatMap((message) => {
      const run = ids.get(idIn(message.body));
      if (!run || (message.path !== '/key' && message.path !== run.path)) return [`${message.path} is a stranger`];
      const type = `response.${run.cancelled ? 'cancelled' : 'completed'}`;
      if (JSON.parse(message.body).type !== type) return [`${message.path} was told ${message.body}, not ${type}`];
      return isSigned(message) ? [] : [`${message.path} was told without its signature`];
    });
    return [...untold(), ...strange];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver[Symbol.asyncDispose]();
  }
}

function idIn(body: string): string {
  return JSON.parse(body).data.id;
}

function isSigned({ headers, body }: ReceivedWebhook): boolean {
  const message = { id: String(headers['webhook-id']), timestamp: Number(headers['webhook-timestamp']), body };
  const expected = new Headers(webhookHeaders(message, [WEBHOOK_SECRET])).get('webhook-signature');
  return headers['webhook-signature'] === expected;
}
