import { GatewayError } from '../base/errors.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { KeyConfig } from '../config/schema.ts';
import { secretHash } from '../config/secrets.ts';

/**
 * The answers that are being written, by the key that asked. A reload that takes a key away, or changes its secret,
 * ends them: nobody goes on reading with a key that would be refused (contract section 10).
 */
export class OpenAnswers {
  readonly #open = new Set<{ key: KeyConfig; end: (reason: GatewayError) => void }>();

  constructor(config: Pick<LiveConfig, 'onChange'>) {
    config.onChange(({ keys }) => this.#endAllBut(keys));
  }

  /** `end` is called at most once, with what to answer where nothing was answered yet. */
  add(key: KeyConfig, end: (reason: GatewayError) => void): Disposable {
    const answer = { key, end };
    this.#open.add(answer);
    return { [Symbol.dispose]: () => void this.#open.delete(answer) };
  }

  #endAllBut(keys: readonly KeyConfig[]): void {
    if (this.#open.size === 0) return;
    const secrets = new Set(keys.map(secretHash));
    for (const answer of [...this.#open]) {
      if (secrets.has(secretHash(answer.key))) continue;
      this.#open.delete(answer);
      answer.end(new GatewayError('invalid_api_key', 'The API key was removed.'));
    }
  }
}
