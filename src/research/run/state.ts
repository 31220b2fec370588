import { isObject, parseJson } from '../../base/json.ts';
import { type Usage, zeroUsage } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { addUsage, priced } from '../../upstream/decoding/usage.ts';
import { noUsage, type RoutePrice, type TurnUsage } from '../../upstream/turn.ts';
import type { EarlierSource } from './request.ts';
import { SourceRegistry } from './sources.ts';
import type {
  AnsweredEntry,
  ExecutableCall,
  Forced,
  GuardName,
  OpeningEntry,
  ResultEntry,
  SpentEntry,
  TranscriptEntry,
  TurnEntry,
} from './transcript.ts';
import { addWarning } from './warnings.ts';

/** Costs are told to so many decimals: sums of binary fractions end in noise. */
const DECIMALS = 10;

/** The state of a research run: the fold of its transcript. */
export class ResearchState {
  readonly entries: TranscriptEntry[] = [];
  readonly sources = new SourceRegistry();
  /** Calls that were given a number, executed or about to be. */
  readonly made = new Map<number, ExecutableCall>();
  /** Results in the order in which they came. */
  readonly results = new Map<number, ResultEntry>();
  /** Finished research turns. */
  turns = 0;
  elapsedMs = 0;
  forced: Forced | undefined;
  answered: AnsweredEntry | undefined;
  /** What every request begins with, as it was at the first one. */
  opening: OpeningEntry | undefined;
  /** The length of the answer whose tokens are counted, in UTF-16 code units, and these tokens. */
  answerLength = 0;
  answerTokens = 0;
  /** The route that gave the last turn. */
  route: TurnEntry['route'];
  usage: Usage = zeroUsage();
  /** What the run cost, as far as its routes have prices. */
  cost = 0;
  #currency: string | undefined;
  #price: RoutePrice | undefined;
  /** Estimated tokens of turns whose route is not known: they cost what the first route costs. */
  readonly #unpriced: TurnUsage[] = [];
  /** Something was spent on a route without a price: the sum is not told. */
  #priceless = false;
  /** What turns used since this process took the run up, and what was told before that. */
  #seen = noUsage();
  #before: { usage: Usage; cost: number } | undefined;
  /** What was noted for the client, each once. */
  readonly warnings: Warning[] = [];

  /** The state after the given entries, as stored. Sources of an earlier run of the conversation come first. */
  static of(entries: Iterable<TranscriptEntry>, earlier: readonly EarlierSource[] = []): ResearchState {
    const state = new ResearchState();
    state.sources.add(earlier.map((source) => ({ ...source, kind: 'listed' })));
    for (const entry of entries) state.apply(entry);
    return state;
  }

  apply(entry: TranscriptEntry): void {
    this.entries.push(entry);
    switch (entry.t) {
      case 'turn':
        this.turns++;
        this.elapsedMs = entry.elapsedMs;
        this.#spend(entry.usage);
        for (const planned of entry.calls) if ('call' in planned) this.made.set(planned.call, planned);
        this.forced ??= entry.forced;
        this.opening ??= entry.opening;
        this.route = entry.route ?? this.route;
        break;
      case 'result':
        this.results.set(entry.call, entry);
        this.sources.restore(entry.sources);
        if (entry.status === 'failed') this.#noteUnreadable(entry.call);
        this.usage.num_tool_calls++;
        this.usage.num_search_queries += entry.queries;
        break;
      case 'force':
        this.forced ??= entry;
        break;
      case 'spent':
        this.#spend(entry.usage);
        if (entry.answerLength !== undefined) {
          this.answerTokens = entry.answerLength === 0 ? 0 : this.answerTokens + (entry.answerTokens ?? 0);
          this.answerLength = entry.answerLength;
        }
        break;
      case 'answered':
        this.#spend(entry.usage);
        this.answered = entry;
        break;
      case 'warned':
        for (const warning of entry.warnings) addWarning(this.warnings, warning);
        break;
    }
  }

  /** Calls that have no result yet. */
  pendingCalls(): ExecutableCall[] {
    return this.made
      .values()
      .filter(({ call }) => !this.results.has(call))
      .toArray();
  }

  /** The last turn of the attempt that runs now, unless the gateway spoke to the model since. */
  unansweredTurn(): TurnEntry | undefined {
    const last = this.attempt().findLast((entry) => entry.t === 'turn' || entry.t === 'note');
    return last?.t === 'turn' ? last : undefined;
  }

  /** Whether the model asked for nothing more, and the gateway did not ask it to go on. */
  researched(): boolean {
    return this.unansweredTurn()?.calls.length === 0;
  }

  /** How often a guard spoke to the model in the attempt that runs now. */
  noted(guard: GuardName): number {
    return this.attempt().filter((entry) => entry.t === 'note' && entry.guard === guard).length;
  }

  /** How often in a row a guard has spoken to the model, without a turn between that it had nothing to say of. */
  toldInARow(guard: GuardName, options: { before?: TurnEntry } = {}): number {
    const spoken = this.attempt().filter((entry) => entry.t === 'turn' || entry.t === 'note');
    const end = options.before ? spoken.lastIndexOf(options.before) : spoken.length;
    let told = 0;
    for (let i = end - 1; i >= 0; i--) {
      const entry = spoken[i];
      if (entry?.t === 'note' && entry.guard === guard) told++;
      else if (entry?.t === 'note' || spoken[i + 1]?.t !== 'note') break;
    }
    return told;
  }

  /** Whether the run has begun anew. It does so once. */
  get restarted(): boolean {
    return this.entries.some((entry) => entry.t === 'restart');
  }

  /** Whether a tool of an MCP server gave a result: such tools give results, not sources. */
  get served(): boolean {
    return this.made
      .values()
      .some(({ name, call }) => name.includes('.') && this.results.get(call)?.status === 'completed');
  }

  /** The entries of the attempt that runs now. */
  attempt(): readonly TranscriptEntry[] {
    const restart = this.entries.findLastIndex((entry) => entry.t === 'restart');
    return restart === -1 ? this.entries : this.entries.slice(restart);
  }

  #noteUnreadable(call: number): void {
    const made = this.made.get(call);
    const args = made?.name === 'fetch_url_content' ? parseJson(made.arguments) : undefined;
    if (isObject(args) && typeof args.url === 'string') this.sources.failedToRead(args.url);
  }

  /** A turn used this much, whether an entry will tell of it or not. */
  saw(usage: TurnUsage): void {
    this.#before ??= { usage: structuredClone(this.usage), cost: this.cost };
    this.#seen = addUsage(this.#seen, usage);
  }

  /**
   * The entry for what turns used and no other entry tells: of turns that were left, by a cancel or an end that came from
   * elsewhere. Undefined where all is told.
   */
  untold(): SpentEntry | undefined {
    if (!this.#before) return undefined;
    const { usage, cost } = this.#before;
    const seen = this.#seen;
    const rest = (seenTokens: number, now: number, before: number) => Math.max(0, seenTokens - (now - before));
    const inputTokens = rest(seen.inputTokens, this.usage.input_tokens, usage.input_tokens);
    const outputTokens = rest(seen.outputTokens, this.usage.output_tokens, usage.output_tokens);
    if (inputTokens + outputTokens === 0) return undefined;
    return {
      t: 'spent',
      usage: {
        inputTokens,
        cachedTokens: 0,
        outputTokens,
        reasoningTokens: 0,
        estimated: true,
        ...(seen.cost !== undefined && { cost: rest(seen.cost, this.cost, cost) }),
        ...(seen.unpriced && { unpriced: true }),
      },
    };
  }

  /** Tells what money is counted in, and what a turn costs whose route is not known. */
  useMoney({ currency, price }: { currency: string; price: RoutePrice | undefined }): void {
    this.#currency = currency;
    this.#price = price;
    for (const usage of this.#unpriced.splice(0)) this.#pay(usage);
    this.#tellCost();
  }

  #pay(spent: TurnUsage): void {
    const tokens = spent.inputTokens + spent.outputTokens;
    if (spent.cost !== undefined || spent.unpriced) {
      this.cost += spent.cost ?? 0;
      this.#priceless ||= spent.unpriced === true;
    } else if (!spent.estimated) this.#priceless ||= tokens > 0;
    else if (this.#currency === undefined) this.#unpriced.push(spent);
    else {
      const cost = priced(spent, this.route?.price ?? this.#price).cost;
      this.#priceless ||= cost === undefined && tokens > 0;
      this.cost += cost ?? 0;
    }
  }

  #tellCost(): void {
    const { usage } = this;
    delete usage.cost;
    if (this.#priceless || this.#currency === undefined || usage.total_tokens === 0) return;
    usage.cost = { total: Number(this.cost.toFixed(DECIMALS)), currency: this.#currency };
  }

  #spend(spent: TurnUsage): void {
    const { usage } = this;
    usage.input_tokens += spent.inputTokens;
    usage.input_tokens_details.cached_tokens += spent.cachedTokens;
    usage.output_tokens += spent.outputTokens;
    usage.output_tokens_details.reasoning_tokens += spent.reasoningTokens;
    usage.total_tokens = usage.input_tokens + usage.output_tokens;
    if (spent.estimated) usage.estimated = true;
    this.#pay(spent);
    this.#tellCost();
  }
}
