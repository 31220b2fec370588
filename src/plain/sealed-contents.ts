import { z } from 'zod';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import type { Sealer } from '../base/secrets/sealed.ts';
import type { AssistantMessage } from '../upstream/turn.ts';

/** What a provider wants back of the thoughts of one turn, as clients keep it in `encrypted_content`. */
export interface Thought {
  /** Absent where the provider wants nothing back. */
  replay?: AssistantMessage['replay'];
  /** The item stands behind the message of its turn: its provider showed nothing of the thought. */
  behind?: true | undefined;
}

/**
 * Thoughts that clients keep between turns (docs/api.md, "Thoughts that the client keeps"): readable for this gateway
 * alone, for the same user.
 */
export class SealedThoughts {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** @throws GatewayError `store_unavailable`. */
  async seal(thought: Thought, { user }: { user: string }): Promise<string> {
    return await this.#sealer.seal(JSON.stringify({ v: VERSION, ...thought }), { user, kind: 'reasoning' });
  }

  /** `param` names the field. @throws GatewayError `invalid_parameter` where it was changed or is another user's. */
  async open(sealed: string, { user, param }: { user: string; param: string }): Promise<Thought> {
    const text = await this.#sealer.open(sealed, { user, kind: 'reasoning', param });
    const read = sealedThought.safeParse(parseJson(text));
    if (read.success) return read.data;
    const message = `${param}: a newer gateway made it, and this one cannot read it.`;
    throw new GatewayError('invalid_parameter', message, { param });
  }
}

const VERSION = 1;
const sealedThought = z.looseObject({
  v: z.literal(VERSION),
  replay: z.looseObject({ provider: z.string(), fields: z.custom<JsonObject>(isObject) }).optional(),
  behind: z.literal(true).optional(),
});
