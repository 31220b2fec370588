import { GatewayError } from '../../base/errors.ts';
import { type Keyring, keyringOf } from '../../config/keyring.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { KeyConfig } from '../../config/schema.ts';
import { secretHash } from '../../config/secrets.ts';

/** An answer that is being written. */
export interface OpenAnswer {
  key: KeyConfig;
  /** Pattern of its route. */
  route: string;
  /** Nothing is being written: a connection on which something may be asked for. */
  idle?: true;
  /** Called at most once, with what to answer where nothing was answered yet. */
  end(reason: GatewayError): void;
}

class Entry implements Disposable {
  readonly answer: OpenAnswer;
  readonly #remove: (place: Entry) => void;
  /** Its index. */
  index: number;

  constructor(answer: OpenAnswer, at: number, remove: (place: Entry) => void) {
    this.answer = answer;
    this.index = at;
    this.#remove = remove;
  }

  [Symbol.dispose](): void {
    this.#remove(this);
  }
}

/**
 * The answers that are being written, by the key that asked. A reload that takes a key away, or changes its secret,
 * ends them: nobody goes on reading with a key that would be refused (docs/configuration.md, "Changes while the gateway
 * runs").
 */
export class OpenAnswers {
  /**
   * In no order. Not a Set: one that is added to and deleted from leaves tables behind that point to later ones, and
   * the young generation's collector takes for alive what is in them, all of a request with each answer.
   */
  readonly #open: Entry[] = [];
  #idle = 0;

  constructor(config: Pick<LiveConfig, 'onChange'>) {
    config.onChange((next) => this.#endAllBut(keyringOf(next)));
  }

  /** How many are being written. */
  get size(): number {
    return this.#open.length - this.#idle;
  }

  /** How many answers of each route are being written. */
  routes(): Record<string, number> {
    const routes: Record<string, number> = {};
    for (const { answer } of this.#open) {
      if (!answer.idle) routes[answer.route] = (routes[answer.route] ?? 0) + 1;
    }
    return routes;
  }

  /** Until disposed. */
  add(answer: OpenAnswer): Disposable {
    const place = new Entry(answer, this.#open.length, this.#remove);
    this.#open.push(place);
    if (answer.idle) this.#idle++;
    return place;
  }

  /** The last one takes its place. */
  readonly #remove = (place: Entry): void => {
    if (this.#open[place.index] !== place) return;
    if (place.answer.idle) this.#idle--;
    const last = this.#open.pop();
    if (last === undefined || last === place) return;
    this.#open[place.index] = last;
    last.index = place.index;
  };

  #endAllBut(keyring: Keyring): void {
    for (const place of [...this.#open]) {
      const { answer } = place;
      if (keyring.byHash(secretHash(answer.key))) continue;
      this.#remove(place);
      answer.end(new GatewayError('invalid_api_key', 'The API key was removed.'));
    }
  }
}
