import { GatewayError } from '../base/errors.ts';
import type { KeyConfig, ModelConfig } from '../config/schema.ts';
import { summaryRequest } from '../plain/compaction.ts';
import type { SealedContents } from '../plain/sealed-contents.ts';
import type { Usage } from '../protocol/response.ts';
import { toRunError } from '../research/run/run-error.ts';
import { Spending } from '../research/run/spending.ts';
import { type ChatModel, TurnError, type TurnMessage, type TurnUsage } from '../upstream/turn.ts';

/** A thread to compact. */
interface Compaction {
  modelName: string;
  model: ModelConfig;
  key: KeyConfig;
  /** The application's instructions, which the summary must serve. */
  instructions: string | undefined;
  thread: readonly TurnMessage[];
  /** Called with the turn's usage once it is over, however it ended. */
  onUsed(usage: TurnUsage): void;
  signal: AbortSignal;
}

export interface CompactorOptions {
  chatModel(query: Pick<Compaction, 'modelName' | 'model' | 'key' | 'onUsed'>): ChatModel;
  sealed: SealedContents;
  currency(): string;
}

/**
 * Compacts threads (docs/api.md, "Counting and compacting"): one turn of the model writes a summary, which is encrypted so
 * that only this gateway can read it again, for the same user.
 */
export class Compactor {
  readonly #options: CompactorOptions;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /**
   * Returns the `encrypted_content` of a compaction item, and the usage.
   * @throws GatewayError as a run fails: `context_length_exceeded`, `upstream_error`, ...; the signal's reason.
   */
  async compact(request: Compaction, { user }: { user: string }): Promise<{ sealed: string; usage: Usage }> {
    const { text, usage } = await this.#call(request);
    if (text.trim() === '') throw new GatewayError('upstream_error', 'The model wrote no summary. Try again.');
    return { sealed: await this.#options.sealed.sealSummary(text, { user }), usage: this.#usageOf(usage) };
  }

  async #call({ thread, instructions, signal, ...query }: Compaction): Promise<{ text: string; usage: TurnUsage }> {
    const chat = this.#options.chatModel(query);
    const request = summaryRequest(thread, { instructions, maxTokens: query.model.max_completion_tokens });
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
    spending.setPricing({ currency: this.#options.currency(), price: undefined });
    spending.spend(usage);
    return spending.usage;
  }
}
