import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import { type ClientGateway, clientGateway, KEY } from './client-gateway.ts';
import { INSTALL_TIMEOUT_MS, loadClient } from './client-package.ts';

/** The module of an official SDK, with the types of the newest version. */
export type Sdk = typeof import('openai');

/** One major version of the official SDK, and the gateway that it talks to. */
export interface Major {
  readonly number: number;
  /** Its name among clients, such as `openai4`. */
  readonly name: string;
  readonly sdk: Sdk;
  readonly gateway: ClientGateway;
  /** A client with the main key, and no retries unless asked for. */
  client(options?: ClientOptions): OpenAI;
}

const NUMBERS = [4, 5, 6, 7];

/** Registers the same tests for every major version of the official SDK, over one gateway. */
export function forEachMajor(title: string, defineTests: (major: Major) => void): void {
  describe(title, () => {
    const gateway = clientGateway(NUMBERS.map((number) => `openai${number}`));
    for (const number of NUMBERS) {
      const name = `openai${number}`;
      describe(`openai ${number}`, () => {
        let sdk: Sdk | undefined;
        before(async function () {
          this.timeout(INSTALL_TIMEOUT_MS);
          sdk = await loadClient<Sdk>(name);
        });
        const loaded = () => {
          if (!sdk) throw new Error('the SDK is not loaded yet');
          return sdk;
        };
        defineTests({
          number,
          name,
          gateway,
          get sdk() {
            return loaded();
          },
          client: (options) =>
            new (loaded().OpenAI)({ baseURL: gateway.baseURL, apiKey: KEY.main, maxRetries: 0, ...options }),
        });
      });
    }
  });
}

/** The stream helper of chat completions, which is under `beta` in version 4. */
export function chatHelper(major: Major, body: OpenAI.ChatCompletionCreateParamsNonStreaming) {
  const client = major.client();
  const { beta } = client as unknown as { beta: Pick<OpenAI, 'chat'> };
  const { completions } = major.number === 4 ? beta.chat : client.chat;
  return completions.stream({ ...body, stream: true });
}

/** For `assert.rejects`: whether an error is of exactly this class, with these fields and a message. */
export function thrownAs(type: abstract new (...args: never[]) => Error, fields: Record<string, unknown>) {
  return (thrown: unknown): boolean => {
    assert.ok(thrown instanceof type, String(thrown));
    assert.equal(thrown.constructor, type, String(thrown));
    assert.notEqual(thrown.message, '');
    const found = new Map<string, unknown>(Object.entries(thrown));
    assert.deepEqual(Object.fromEntries(Object.keys(fields).map((name) => [name, found.get(name)])), fields);
    return true;
  };
}
