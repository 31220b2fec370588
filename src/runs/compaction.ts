import { GatewayError } from '../base/errors.ts';
import type { KeyConfig, ModelConfig } from '../config/schema.ts';
import { compactingTurn } from '../plain/compaction.ts';
import type { SealedContents } from '../plain/sealed-contents.ts';
import type { Usage } from '../protocol/response.ts';
import { toRunError } from '../research/run/run-error.ts';
import { Spending } from '../research/run/spending.ts';
import { type ChatModel, TurnError, type TurnMessage, type TurnUsage } from '../upstream/turn.ts';

/** A thread to compact. */
interface Compacting {
  modelName: string;
  model: ModelConfig;
  key: KeyConfig;
  /** Of the user's application, for the one who goes on. */
  instructions: string | undefined;
  thread: readonly TurnMessage[];
  /** Told what the turn has used once it is over, however it ended. */
  onUsed(usage: TurnUsage): void;
  signal: AbortSignal;
}

export interface CompactorOptions {
  chatModel(query: Pick<Compacting, 'modelName' | 'model' | 'key' | 'onUsed'>): ChatModel;
  sealed: SealedContents;
  currency(): string;
}

/**
 * Sums threads up (docs/api.md, "Counting and compacting"): one turn at the model, whose text only this gateway reads again, for the
 * same user.
 */
export class Compactor {
  readonly #options: CompactorOptions;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /**
   * The `encrypted_content` of a compaction item, and what it took.
   * @throws GatewayError as a run fails: `context_length_exceeded`, `upstream_error`, ...; the signal's reason.
   */
  async compact(compacting: Compacting, { user }: { user: string }): Promise<{ sealed: string; usage: Usage }> {
    const { text, usage } = await this.#ask(compacting);
    if (text.trim() === '') throw new GatewayError('upstream_error', 'The model wrote no summary. Try again.');
    return { sealed: await this.#options.sealed.sealSummary(text, { user }), usage: this.#usageOf(usage) };
  }

  async #ask({ thread, instructions, signal, ...query }: Compacting): Promise<{ text: string; usage: TurnUsage }> {
    const chat = this.#options.chatModel(query);
    const request = compactingTurn(thread, { instructions, longest: query.model.max_completion_tokens });
    try {
      for await (const part of chat.turn(request, { signal })) {
        if (part.type === 'finish') return { text: part.message.content, usage: part.usage };
      }
    } catch (thrown) {
      throw thrown instanceof TurnError ? toRunError(thrown) : thrown;
    }
    throw new GatewayError('upstream_error', 'The provider ended its stream without finishing.');
  }

  #usageOf(usage: TurnUsage): Usage {
    const spending = new Spending(() => undefined);
    spending.useMoney({ currency: this.#options.currency(), price: undefined });
    spending.spend(usage);
    return spending.usage;
  }
}
