import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { RefreshedSecret, SecretSource } from '../../config/schema/refreshed.ts';
import type { GatewayConfig, ProviderConfig, RemoteProviderConfig } from '../../config/schema.ts';
import { credentialsOfKeys } from '../../config/secrets.ts';
import { readSecret } from './read-secret.ts';

/** A source that failed is asked again after so long, in milliseconds, or after its own time where that is shorter. */
const RETRY_MS = 15_000;

export interface RefreshedSecretsOptions {
  log: Logger;
  /** Gets all secrets that are or were just in use, those of keys too, whenever one changes, to keep them out of the log. */
  hide?: ((secrets: readonly string[]) => void) | undefined;
}

type Providers = Readonly<Record<string, ProviderConfig>>;

/**
 * The secrets of providers that commands and files give, asked for again before they run out. A source that fails
 * keeps its last secret, and is told to the log and by `warnings`.
 */
export class RefreshedSecrets implements Disposable {
  readonly #options: RefreshedSecretsOptions;
  readonly #cached = new Map<string, CachedSecret>();
  readonly #listeners = new Set<() => void>();
  /** Those whose first answers are waited for. */
  readonly #awaited = new Set<Providers>();
  /** Keys of the store come and go with their credentials. */
  #keyCredentials: readonly string[] = [];

  constructor(options: RefreshedSecretsOptions) {
    this.#options = options;
  }

  /** Asks the sources that are new, and waits for their first answers, in vain or not. Never throws. */
  async prepare(providers: Providers): Promise<void> {
    const { log } = this.#options;
    const changed = () => this.#changed();
    const asked = sourcesIn(providers).map(({ name, source }) => {
      const make = () => new CachedSecret({ name, source, log, changed });
      return this.#cached.getOrInsertComputed(idOf(source), make).first;
    });
    this.#awaited.add(providers);
    await Promise.all(asked);
    this.#awaited.delete(providers);
  }

  /** Forgets the sources that these providers do not have, and that nobody waits for. */
  retain(providers: Providers): void {
    const kept = new Set([providers, ...this.#awaited].flatMap(sourcesIn).map(({ source }) => idOf(source)));
    for (const [id, held] of this.#cached) {
      if (kept.has(id)) continue;
      held[Symbol.dispose]();
      this.#cached.delete(id);
    }
  }

  /**
   * Puts a new configuration in force: its sources are asked first, so that no call goes out without a secret.
   * @throws what `live.replace` throws.
   */
  async replace(live: LiveConfig, next: GatewayConfig): Promise<void> {
    await this.prepare(next.providers);
    this.#keyCredentials = [...credentialsOfKeys(next)];
    this.#hide();
    try {
      live.replace(next);
    } finally {
      this.retain(live.current().providers);
    }
  }

  /** A provider with the secrets of now in their places. What was never given is absent. */
  applied(config: RemoteProviderConfig): RemoteProviderConfig {
    const { refreshed } = config;
    if (refreshed === undefined) return config;
    const applied = { ...config, headers: { ...config.headers } };
    for (const { header, source } of refreshed) {
      const secret = this.#cached.get(idOf(source))?.current;
      if (secret === undefined) continue;
      if (header === undefined) applied.api_key = secret;
      else applied.headers[header] = secret;
    }
    return applied;
  }

  /** The sources that fail, one line each, without secrets. */
  get warnings(): string[] {
    return [...this.#cached.values()].flatMap(({ warning }) => warning ?? []);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #hide(): void {
    this.#options.hide?.([...[...this.#cached.values()].flatMap(({ secrets }) => secrets), ...this.#keyCredentials]);
  }

  #changed(): void {
    this.#hide();
    for (const listener of this.#listeners) listener();
  }

  [Symbol.dispose](): void {
    this.#awaited.clear();
    this.retain({});
  }
}

/** Whether a secret of the provider was never given, so that it would be asked without. */
export function lacksSecret({ refreshed = [], api_key, headers }: RemoteProviderConfig): boolean {
  return refreshed.some(({ header }) => (header === undefined ? api_key : headers[header]) === undefined);
}

interface CachedSecretOptions {
  name: string;
  source: SecretSource;
  log: Logger;
  changed(): void;
}

/** What one source gave, until it gives the next. */
class CachedSecret implements Disposable {
  current: string | undefined;
  warning: string | undefined;
  /** Settled with the first answer. */
  readonly first: Promise<void>;
  readonly #options: CachedSecretOptions;
  readonly #closing = new AbortController();
  #previous: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CachedSecretOptions) {
    this.#options = options;
    this.first = this.#refresh();
  }

  /** Those that answers under way may still quote. */
  get secrets(): string[] {
    return [this.current, this.#previous].filter((secret) => secret !== undefined);
  }

  async #refresh(): Promise<void> {
    const { source } = this.#options;
    let pauseMs = source.refreshMs;
    try {
      this.#take(await readSecret(source, this.#closing.signal));
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      pauseMs = Math.min(pauseMs, RETRY_MS);
      this.#fail(messageOf(error));
    }
    if (!this.#closing.signal.aborted) this.#timer = setTimeout(() => void this.#refresh(), pauseMs).unref();
  }

  #take(secret: string): void {
    const { name, log, changed } = this.#options;
    if (this.warning !== undefined) log.info({ secret: name }, 'a secret can be refreshed again');
    this.warning = undefined;
    if (secret === this.current) return;
    this.#previous = this.current;
    this.current = secret;
    changed();
  }

  #fail(reason: string): void {
    const { name, log } = this.#options;
    const effect = this.current === undefined ? 'there is none yet' : 'the last one stays in use';
    const warning = `${name}: ${reason}; ${effect}`;
    if (warning !== this.warning) log.warn({ secret: name, reason }, `a secret cannot be refreshed; ${effect}`);
    this.warning = warning;
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('the source is no longer configured'));
    clearTimeout(this.#timer);
  }
}

/** Providers with the same source share what it gives. */
function idOf(source: SecretSource): string {
  return JSON.stringify(source);
}

function sourcesIn(providers: Providers): { name: string; source: SecretSource }[] {
  return Object.entries(providers).flatMap(([provider, config]) => {
    const refreshed: readonly RefreshedSecret[] = 'builtin' in config ? [] : (config.refreshed ?? []);
    return refreshed.map(({ header, source }) => {
      const place = header === undefined ? 'api_key' : `headers.${header}`;
      return { name: `providers.${provider}.${place}`, source };
    });
  });
}
