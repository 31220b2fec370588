import { messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { withoutTrailing } from '../../base/text.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 30_000;

/** The gateway said no. */
class Refusal extends Error {}

/** Asks a running gateway what only keys with `admin: true` may ask. */
export class AdminClient {
  readonly #url: string;
  readonly #apiKey: string;
  readonly #terminal: Terminal;

  constructor({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }, terminal: Terminal) {
    this.#url = withoutTrailing(baseUrl, '/').replace(/\/v1$/, '');
    this.#apiKey = apiKey;
    this.#terminal = terminal;
  }

  /** Does the work, and explains what went wrong. */
  async run(work: (client: AdminClient) => Promise<void>): Promise<ExitCode> {
    try {
      await work(this);
      return EXIT.completed;
    } catch (thrown) {
      this.#terminal.err(`error: ${printable(messageOf(thrown))}\n`);
      return thrown instanceof Refusal ? EXIT.refused : EXIT.connection;
    }
  }

  /** @throws Error that says what went wrong. */
  async ask(method: string, path: string, body?: object): Promise<JsonObject> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${this.#apiKey}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    }).catch((cause: unknown) => {
      throw new Error(`${this.#url} cannot be reached: ${messageOf(cause)}`, { cause });
    });
    const parsed = parseJson(await answer.text());
    if (answer.ok && isObject(parsed)) return parsed;
    const error = isObject(parsed) && isObject(parsed.error) ? String(parsed.error.message) : `status ${answer.status}`;
    const hint = answer.status === 404 && method !== 'DELETE' ? ' This takes a key with `admin: true`.' : '';
    throw new Refusal(`the gateway refused: ${error}${hint}`);
  }
}
