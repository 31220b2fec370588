import { GatewayError } from '../../base/errors.ts';
import { UnorderedList } from '../../base/load/unordered-list.ts';
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

/**
 * The answers that are being written. A reload that removes a key, or changes its secret, ends those of the key: nobody
 * may go on reading with a key that would be refused (docs/configuration.md, "Changes while the gateway runs").
 */
export class OpenAnswers {
  readonly #open = new UnorderedList<OpenAnswer>();
  readonly #idle = new UnorderedList<OpenAnswer>();

  constructor(config: Pick<LiveConfig, 'onChange'>) {
    const reason = new GatewayError('invalid_api_key', 'The API key was removed.');
    config.onChange((next) => {
      const keyring = keyringOf(next);
      this.endAll(reason, ({ key }) => !keyring.byHash.has(secretHash(key)));
    });
  }

  /** How many answers are being written. */
  get size(): number {
    return this.#open.size;
  }

  /** How many answers each route is writing. */
  routes(): Record<string, number> {
    const routes: Record<string, number> = {};
    for (const { item } of this.#open.places()) routes[item.route] = (routes[item.route] ?? 0) + 1;
    return routes;
  }

  /** Adds an answer until disposed. */
  add(answer: OpenAnswer): Disposable {
    return (answer.idle ? this.#idle : this.#open).add(answer);
  }

  endAll(reason: GatewayError, chosen: (answer: OpenAnswer) => boolean): void {
    for (const place of [...this.#open.places(), ...this.#idle.places()]) {
      if (!chosen(place.item)) continue;
      place[Symbol.dispose]();
      place.item.end(reason);
    }
  }
}
