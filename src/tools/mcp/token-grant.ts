import type { AuthProvider } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { withTimeout } from '../../base/abort.ts';
import { monotonicClock } from '../../base/clock.ts';
import { parseJson } from '../../base/json.ts';
import { ToolError } from '../tool.ts';

export interface TokenGrantOptions {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string | undefined;
  /** The address of the MCP server, which the token is for (RFC 8707). */
  resource: string;
  fetch: typeof fetch;
}

const TIMEOUT_MS = 15_000;
/** How long before its end a token is renewed, so that it does not expire in flight. */
const RENEWAL_MARGIN_MS = 30_000;
const DEFAULT_LIFETIME_SECONDS = 300;

const answerSchema = z.object({
  access_token: z.string().min(1).max(16_384),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});

/** The client-credentials grant (RFC 6749 section 4.4) at a known token address. Reuses a token until it expires. */
export class TokenGrant implements AuthProvider {
  readonly #options: TokenGrantOptions;
  #token: { value: string; expiresAt: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(options: TokenGrantOptions) {
    this.#options = options;
  }

  /** The current token. @throws ToolError `mcp_unauthorized` if the authorization server issues none. */
  async token(): Promise<string> {
    if (this.#token && monotonicClock.now() < this.#token.expiresAt) return this.#token.value;
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined;
    });
    return await this.#pending;
  }

  /** Drops a token that the server refused, so that the next request gets a new one. */
  async onUnauthorized(): Promise<void> {
    this.#token = undefined;
  }

  async #request(): Promise<string> {
    const { scope, resource } = this.#options;
    const form = new URLSearchParams({ grant_type: 'client_credentials', resource });
    if (scope !== undefined) form.set('scope', scope);
    const answer = await withTimeout('the token request', TIMEOUT_MS, (signal) => this.#post(form, signal));
    const parsed = answerSchema.safeParse(answer);
    if (!parsed.success) throw refusal('its answer holds no token');
    const { access_token, expires_in = DEFAULT_LIFETIME_SECONDS } = parsed.data;
    this.#token = { value: access_token, expiresAt: monotonicClock.now() + expires_in * 1000 - RENEWAL_MARGIN_MS };
    return access_token;
  }

  async #post(form: URLSearchParams, signal: AbortSignal): Promise<unknown> {
    const answer = await this.#options.fetch(this.#options.tokenUrl, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${this.#basicCredentials()}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form.toString(),
      // A redirect would carry the secret elsewhere.
      redirect: 'error',
      signal,
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw refusal(`it answered ${answer.status}`);
    }
    return parseJson(await answer.text());
  }

  /** RFC 6749 section 2.3.1: both parts are form-encoded first. */
  #basicCredentials(): string {
    const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
    const { clientId, clientSecret } = this.#options;
    return Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64');
  }
}

function refusal(reason: string): ToolError {
  return new ToolError('mcp_unauthorized', `The authorization server of this MCP server gave no token: ${reason}.`);
}
