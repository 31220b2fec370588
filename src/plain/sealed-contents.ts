import { z } from 'zod';
import { fieldError } from '../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import type { SealContext, Sealer } from '../base/secrets/sealed.ts';
import type { AssistantMessage } from '../upstream/turn.ts';

/** The reasoning of one turn as its provider wants it back. Clients store it in `encrypted_content`. */
export interface Thought {
  /** Absent if the provider wants nothing back. */
  replay?: AssistantMessage['replay'];
  /** The item follows the message of its turn, because its provider did not show the reasoning. */
  behind?: true | undefined;
}

const VERSION = 1;
const sealedThought = z.looseObject({
  v: z.literal(VERSION),
  replay: z.looseObject({ provider: z.string(), fields: z.custom<JsonObject>(isObject) }).optional(),
  behind: z.literal(true).optional(),
});
const sealedSummary = z.looseObject({ v: z.literal(VERSION), summary: z.string() });

/**
 * Reasoning and summaries that clients store between turns (docs/api.md, "Thoughts that the client keeps", "Counting and
 * compacting"). Only this gateway can read them, and only for the same user. Sealing throws GatewayError
 * `store_unavailable`; opening throws `invalid_parameter` if the content was changed or belongs to another user. `param`
 * names the field.
 */
export class SealedContents {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  sealThought(thought: Thought, { user }: { user: string }): Promise<string> {
    return this.#sealer.seal(JSON.stringify({ v: VERSION, ...thought }), { user, kind: 'reasoning' });
  }

  openThought(sealed: string, { user, param }: { user: string; param: string }): Promise<Thought> {
    return this.#open(sealedThought, sealed, { user, param, kind: 'reasoning' });
  }

  sealSummary(summary: string, { user }: { user: string }): Promise<string> {
    return this.#sealer.seal(JSON.stringify({ v: VERSION, summary }), { user, kind: 'compaction' });
  }

  async openSummary(sealed: string, { user, param }: { user: string; param: string }): Promise<string> {
    return (await this.#open(sealedSummary, sealed, { user, param, kind: 'compaction' })).summary;
  }

  async #open<T>(schema: z.ZodType<T>, sealed: string, context: SealContext & { param: string }): Promise<T> {
    const read = schema.safeParse(parseJson(await this.#sealer.open(sealed, context)));
    if (read.success) return read.data;
    throw fieldError('invalid_parameter', context.param, 'a newer gateway made it, and this one cannot read it.');
  }
}
