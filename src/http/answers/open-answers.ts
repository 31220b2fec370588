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
  /** Called at most once, with what to answer where nothing was answered yet. */
  end(reason: GatewayError): void;
}

/**
 * The answers that are being written, by the key that asked. A reload that takes a key away, or changes its secret,
 * ends them: nobody goes on reading with a key that would be refused (contract section 10).
 */
export class OpenAnswers {
  readonly #open = new Set<OpenAnswer>();

  constructor(config: Pick<LiveConfig, 'onChange'>) {
    config.onChange((next) => this.#endAllBut(keyringOf(next)));
  }

  get size(): number {
    return this.#open.size;
  }

  /** How many answers of each route are being written. */
  routes(): Record<string, number> {
    const routes: Record<string, number> = {};
    for (const { route } of this.#open) routes[route] = (routes[route] ?? 0) + 1;
    return routes;
  }

  /** Until disposed. */
  add(answer: OpenAnswer): Disposable {
    this.#open.add(answer);
    return { [Symbol.dispose]: () => void this.#open.delete(answer) };
  }

  #endAllBut(keyring: Keyring): void {
    for (const answer of this.#open) {
      if (keyring.byHash(secretHash(answer.key))) continue;
      this.#open.delete(answer);
      answer.end(new GatewayError('invalid_api_key', 'The API key was removed.'));
    }
  }
}
