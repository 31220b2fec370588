import type { KeyConfig, ModelConfig } from '../config/schema.ts';
import { summaryRequest, writeSummary } from '../plain/compaction.ts';
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
  onUsage(usage: TurnUsage): void;
  signal: AbortSignal;
}

export interface CompactorOptions {
  chatModel(query: Pick<Compaction, 'modelName' | 'model' | 'key' | 'onUsage'>): ChatModel;
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
    const { summary, usage } = await this.#call(request);
    return { sealed: await this.#options.sealed.sealSummary(summary, { user }), usage: this.#usageOf(usage) };
  }

  async #call({ thread, instructions, signal, ...query }: Compaction): ReturnType<typeof writeSummary> {
    const chat = this.#options.chatModel(query);
    const request = summaryRequest(thread, { instructions, maxTokens: query.model.max_completion_tokens });
    try {
      return await writeSummary(chat, request, { signal });
    } catch (thrown) {
      throw thrown instanceof TurnError ? toRunError(thrown) : thrown;
    }
  }

  #usageOf(usage: TurnUsage): Usage {
    const spending = new Spending(() => undefined);
    spending.setPricing({ currency: this.#options.currency(), price: undefined });
    spending.spend(usage);
    return spending.usage;
  }
}
