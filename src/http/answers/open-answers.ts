import { GatewayError } from '../../base/errors.ts';
import { keyringOf } from '../../config/keyring.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { KeyConfig } from '../../config/schema.ts';
import { secretHash } from '../../config/secrets.ts';

/** An answer that is being written. */
export interface OpenAnswer {
  key: KeyConfig;
  route: string;
  /** An open connection without an answer, such as a WebSocket between two responses. */
  idle?: true;
  /** Called at most once. `reason`: the answer, if there was none yet. */
  end(reason: GatewayError): void;
}

class Entry implements Disposable {
  readonly answer: OpenAnswer;
  readonly #remove: (entry: Entry) => void;
  index: number;

  constructor(answer: OpenAnswer, index: number, remove: (entry: Entry) => void) {
    this.answer = answer;
    this.index = index;
    this.#remove = remove;
  }

  [Symbol.dispose](): void {
    this.#remove(this);
  }
}

/**
 * The answers that are being written. A reload that removes a key, or changes its secret, ends those of the key: nobody
 * may go on reading with a key that would be refused (docs/configuration.md, "Changes while the gateway runs").
 */
export class OpenAnswers {
  /**
   * In no particular order. Not a Set: adding and deleting leaves old hash tables behind that point to newer ones, and
   * V8's young-generation collector then keeps alive whatever they contain, a whole request with each answer.
   */
  readonly #open: Entry[] = [];
  #idle = 0;

  constructor(config: Pick<LiveConfig, 'onChange'>) {
    const reason = new GatewayError('invalid_api_key', 'The API key was removed.');
    config.onChange((next) => {
      const keyring = keyringOf(next);
      this.endAll(reason, ({ key }) => !keyring.byHash.has(secretHash(key)));
    });
  }

  /** How many answers are being written. */
  get size(): number {
    return this.#open.length - this.#idle;
  }

  /** How many answers each route is writing. */
  routes(): Record<string, number> {
    const routes: Record<string, number> = {};
    for (const { answer } of this.#open) {
      if (!answer.idle) routes[answer.route] = (routes[answer.route] ?? 0) + 1;
    }
    return routes;
  }

  /** Adds an answer until disposed. */
  add(answer: OpenAnswer): Disposable {
    const entry = new Entry(answer, this.#open.length, this.#remove);
    this.#open.push(entry);
    if (answer.idle) this.#idle++;
    return entry;
  }

  /** Removes an entry; the last one takes its index. */
  readonly #remove = (entry: Entry): void => {
    if (this.#open[entry.index] !== entry) return;
    if (entry.answer.idle) this.#idle--;
    const last = this.#open.pop();
    if (last === undefined || last === entry) return;
    this.#open[entry.index] = last;
    last.index = entry.index;
  };

  endAll(reason: GatewayError, chosen: (answer: OpenAnswer) => boolean): void {
    for (const entry of [...this.#open]) {
      if (!chosen(entry.answer)) continue;
      this.#remove(entry);
      entry.answer.end(reason);
    }
  }
}
