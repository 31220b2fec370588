import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { RefreshedSecret, SecretSource } from '../../config/schema/refreshed.ts';
import type { GatewayConfig, ProviderConfig, RemoteProviderConfig } from '../../config/schema.ts';
import { keyCredentials } from '../../config/secrets.ts';
import { readSecret } from './read-secret.ts';

/** How soon a failed source is read again, in milliseconds, unless its own interval is shorter. */
const RETRY_MS = 15_000;

export interface RefreshedSecretsOptions {
  log: Logger;
  /** Called whenever a secret changes, with all current and previous secrets and those of keys, to keep them out of logs. */
  hide?: ((secrets: readonly string[]) => void) | undefined;
}

type Providers = Readonly<Record<string, ProviderConfig>>;

/**
 * The secrets of providers that come from commands and files, refreshed before they expire. A source that fails keeps its
 * last secret, and is reported in the log and by `warnings`.
 */
export class RefreshedSecrets implements Disposable {
  readonly #options: RefreshedSecretsOptions;
  readonly #cached = new Map<string, CachedSecret>();
  readonly #listeners = new Set<() => void>();
  /** Configurations whose first secrets are still awaited. */
  readonly #awaited = new Set<Providers>();
  /** The provider credentials of API keys. */
  #keyCredentials: readonly string[] = [];

  constructor(options: RefreshedSecretsOptions) {
    this.#options = options;
  }

  /** Reads new sources, and waits until each has given its first secret or failed. Never throws. */
  async prepare(providers: Providers): Promise<void> {
    const { log } = this.#options;
    const onChange = () => this.#changed();
    const firstReads = sourcesIn(providers).map(({ name, source }) => {
      const make = () => new CachedSecret({ name, source, log, onChange });
      return this.#cached.getOrInsertComputed(idOf(source), make).first;
    });
    this.#awaited.add(providers);
    await Promise.all(firstReads);
    this.#awaited.delete(providers);
  }

  /** Forgets all sources but those of these providers and of configurations that are still awaited. */
  retain(providers: Providers): void {
    const retained = new Set([providers, ...this.#awaited].flatMap(sourcesIn).map(({ source }) => idOf(source)));
    for (const [id, secret] of this.#cached) {
      if (retained.has(id)) continue;
      secret[Symbol.dispose]();
      this.#cached.delete(id);
    }
  }

  /**
   * Applies a new configuration. Its sources are read first, so that no call goes out without a secret.
   * @throws what `live.replace` throws.
   */
  async replace(live: LiveConfig, next: GatewayConfig): Promise<void> {
    await this.prepare(next.providers);
    this.#keyCredentials = [...keyCredentials(next)];
    this.#hide();
    try {
      live.replace(next);
    } finally {
      this.retain(live.current().providers);
    }
  }

  /** The configuration with the current secrets filled in; a secret that never came is absent. */
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

  /** The failing sources, one line each, without secrets. */
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

/** Whether a secret of the provider never came, so that requests would go out without it. */
export function lacksSecret({ refreshed = [], api_key, headers }: RemoteProviderConfig): boolean {
  return refreshed.some(({ header }) => (header === undefined ? api_key : headers[header]) === undefined);
}

interface CachedSecretOptions {
  name: string;
  source: SecretSource;
  log: Logger;
  onChange(): void;
}

/** The latest secret of one source, refreshed by a timer. */
class CachedSecret implements Disposable {
  current: string | undefined;
  warning: string | undefined;
  /** Settled once the first read succeeds or fails. */
  readonly first: Promise<void>;
  readonly #options: CachedSecretOptions;
  readonly #closing = new AbortController();
  #previous: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CachedSecretOptions) {
    this.#options = options;
    this.first = this.#refresh();
  }

  /** The secrets that running calls may still quote. */
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
    const { name, log, onChange } = this.#options;
    if (this.warning !== undefined) log.info({ secret: name }, 'a secret can be refreshed again');
    this.warning = undefined;
    if (secret === this.current) return;
    this.#previous = this.current;
    this.current = secret;
    onChange();
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

/** Providers with the same source share its secret. */
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
