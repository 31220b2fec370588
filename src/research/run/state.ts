import { isObject, parseJson } from '../../base/json.ts';
import { type Plan, parsePlan, UPDATE_PLAN, withItemStatus } from '../../protocol/plan.ts';
import type { Usage } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { withScheme } from '../../tools/fetch-url-content/fetch-arguments.ts';
import { isDialogue } from './dialogue.ts';
import { ASK_USER, isOwnTool, questionIn } from './own-tools.ts';
import { ReportState } from './report-state.ts';
import type { EarlierSource } from './request.ts';
import { SourceRegistry } from './sources.ts';
import { type Pricing, Spending } from './spending.ts';
import type {
  AnsweredEntry,
  ExecutableCall,
  ForcedEnd,
  JoinedEntry,
  LanesEntry,
  OpeningEntry,
  ResultEntry,
  TranscriptEntry,
  TurnEntry,
} from './transcript.ts';
import { addWarning, hasWarning } from './warnings.ts';

/** The state of a research run: the fold of its transcript. Each lane has a state of its own, with call numbers of the run. */
export class ResearchState {
  /** The lane's number; undefined for the run itself. */
  readonly lane: number | undefined;
  readonly #run: ResearchState;
  readonly #lanes = new Map<number, ResearchState>();
  /** All entries, in a run including those of its lanes. */
  readonly entries: TranscriptEntry[] = [];
  /** The entries of its own conversation with the model, without those of lanes. */
  readonly ownEntries: TranscriptEntry[] = [];
  readonly sources: SourceRegistry;
  readonly report = new ReportState();
  /** Calls that have a number, whether or not they have a result yet. */
  readonly calls = new Map<number, ExecutableCall & { lane?: number | undefined }>();
  /** Results in the order of their arrival. */
  readonly results = new Map<number, ResultEntry>();
  /** How many calls count as tool calls: neither the loop's own tools nor the client's functions do. */
  toolCalls = 0;
  /** The question to the user that takes the place of an answer, if there is one. */
  question: string | undefined;
  plan: Plan | undefined;
  /** Finished research turns. */
  turns = 0;
  /** Working time up to the end of the last turn, in milliseconds. */
  elapsedMs = 0;
  forcedEnd: ForcedEnd | undefined;
  answered: AnsweredEntry | undefined;
  /** The lanes of the research, once it has split, and how they ended. */
  lanes: LanesEntry | undefined;
  joined: JoinedEntry | undefined;
  /** How every request begins, fixed by the first one. */
  opening: OpeningEntry | undefined;
  /** The length of the part of the answer that is charged, in UTF-16 code units, and its tokens. */
  answerLength = 0;
  answerTokens = 0;
  route: TurnEntry['route'];
  #pricing: Pricing | undefined;
  readonly spending = new Spending(() => this.route?.price);
  /** All calls that the client has approved. */
  readonly #approved = new Set<number>();
  /** The approved calls that this response begins with, in order. */
  approvedHere: number[] = [];
  /** What earlier responses of this research used: it counts towards the budgets, but not towards this response's usage. */
  #earlier = { tokens: 0, cost: 0, turns: 0, calls: 0, toolCalls: 0 };
  /** Warnings for the client, without repeats. */
  readonly warnings: Warning[] = [];
  /** Those that are not in the transcript yet. */
  readonly newWarnings: Warning[] = [];

  constructor(lane?: { number: number; run: ResearchState }) {
    this.lane = lane?.number;
    this.#run = lane?.run ?? this;
    this.sources = lane?.run.sources ?? new SourceRegistry();
  }

  /**
   * The state after the stored `entries`. `earlier`: sources of earlier runs of the conversation, which are numbered
   * first. `before`: entries of the responses that this one continues.
   */
  static of(
    entries: Iterable<TranscriptEntry>,
    earlier: readonly EarlierSource[] = [],
    before: readonly TranscriptEntry[] = [],
  ): ResearchState {
    const state = new ResearchState();
    state.sources.note(state.sources.add(earlier.map((source) => ({ ...source, kind: 'listed' }))));
    for (const entry of before) state.apply(entry);
    state.#startResponse();
    for (const entry of entries) state.apply(entry);
    return state;
  }

  /** Applies an entry. An entry of a lane is also applied to the run. */
  apply(entry: TranscriptEntry): void {
    if (this.lane !== undefined) entry.lane = this.lane;
    this.#run.#append(entry);
  }

  laneOf(number: number): ResearchState {
    let lane = this.#lanes.get(number);
    if (!lane) {
      lane = new ResearchState({ number, run: this });
      lane.route = this.route;
      if (this.#pricing) lane.setPricing(this.#pricing);
      this.#lanes.set(number, lane);
    }
    return lane;
  }

  #append(entry: TranscriptEntry): void {
    this.entries.push(entry);
    this.#count(entry);
    if (entry.lane === this.lane) this.#applyOwn(entry);
    else if (entry.lane !== undefined) this.laneOf(entry.lane).#append(entry);
  }

  /** Counts what an entry used and found, its own or a lane's. */
  #count(entry: TranscriptEntry): void {
    switch (entry.t) {
      case 'turn':
        this.turns++;
        this.elapsedMs = Math.max(this.elapsedMs, entry.elapsedMs);
        this.spending.spend(entry.usage);
        for (const planned of entry.calls) if ('call' in planned) this.#addCall(planned, entry.lane);
        this.route = entry.route ?? this.route;
        break;
      case 'result':
        this.results.set(entry.call, entry);
        this.sources.note(entry.sources);
        if (entry.status === 'failed') this.#noteUnreadable(entry.call);
        if (this.#isToolCall(entry.call)) this.usage.num_tool_calls++;
        this.usage.num_search_queries += entry.queries;
        break;
      case 'spent':
        this.usage.num_search_queries += entry.queries ?? 0;
        this.spending.spend(entry.usage);
        break;
      case 'section':
      case 'compacted':
      case 'outline':
      case 'draft':
      case 'checked':
      case 'answered':
        this.spending.spend(entry.usage);
        break;
      case 'approved':
        this.approvedHere = entry.calls.map(({ call }) => call);
        for (const call of this.approvedHere) this.#approved.add(call);
        break;
      case 'warned':
        for (const warning of entry.warnings) addWarning(this.warnings, warning);
        break;
    }
  }

  /** Applies an entry of its own conversation. */
  #applyOwn(entry: TranscriptEntry): void {
    this.ownEntries.push(entry);
    this.report.apply(entry);
    switch (entry.t) {
      case 'turn':
        this.answerLength = 0;
        this.answerTokens = 0;
        this.forcedEnd ??= entry.forced;
        this.opening ??= entry.opening;
        break;
      case 'result':
        this.#applyOwnTool(entry);
        break;
      case 'force':
        this.forcedEnd ??= entry;
        break;
      case 'lanes':
        this.lanes = entry;
        if (this.plan) this.plan = withItemStatus(this.plan, entry.tasks.flat(), 'doing');
        break;
      case 'joined': {
        this.joined = entry;
        const done = entry.done.flatMap((lane) => this.lanes?.tasks[lane - 1] ?? []);
        if (this.plan) this.plan = withItemStatus(this.plan, done, 'done');
        break;
      }
      case 'spent':
        if (entry.answerLength === undefined) break;
        this.answerTokens = entry.answerLength === 0 ? 0 : this.answerTokens + (entry.answerTokens ?? 0);
        this.answerLength = entry.answerLength;
        break;
      case 'section':
        this.answerLength = entry.length;
        this.answerTokens = 0;
        break;
      case 'answered':
        this.answered = entry;
        break;
    }
  }

  /** Sets the currency, and the price of turns whose route is not known. */
  setPricing(pricing: Pricing): void {
    this.#pricing = pricing;
    for (const state of [this, ...this.#lanes.values()]) state.spending.setPricing(pricing);
  }

  /** Notes search queries that are about to be sent. */
  observeQueries(queries: number): void {
    this.#run.spending.observeQueries(queries);
  }

  get usage(): Usage {
    return this.spending.usage;
  }

  get cost(): number {
    return this.spending.cost;
  }

  /** The usage of a response that ends here: calls that its end cuts off were made. */
  get finalUsage(): Usage {
    const cut = this.#unanswered().filter(({ call }) => this.#isToolCall(call)).length;
    return { ...this.usage, num_tool_calls: this.usage.num_tool_calls + cut };
  }

  /** Notes a warning for the client, unless it is a repeat. */
  warn(warning: Warning): void {
    if (!hasWarning(this.warnings, warning)) addWarning(this.newWarnings, warning);
  }

  /** Books everything so far to earlier responses, and starts to count for this one. */
  #startResponse(): void {
    const { usage, cost, turns, toolCalls } = this;
    this.#earlier = { tokens: usage.total_tokens, cost, turns, calls: this.calls.size, toolCalls };
    this.approvedHere = [];
    this.spending.reset();
  }

  /** Tokens that the whole research used, earlier responses included. */
  get tokens(): number {
    return this.#earlier.tokens + this.usage.total_tokens;
  }

  /** What the whole research cost, earlier responses included. */
  get totalCost(): number {
    return this.#earlier.cost + this.cost;
  }

  /** How many calls earlier responses made: this response's call numbers start there. */
  get earlierCalls(): number {
    return this.#earlier.calls;
  }

  get ownTurns(): number {
    return this.turns - this.#earlier.turns;
  }

  get ownToolCalls(): number {
    return this.toolCalls - this.#earlier.toolCalls;
  }

  /** Calls that wait for the client: those of its own functions, and those that it has not approved yet. */
  waitingCalls(): ExecutableCall[] {
    return this.#unanswered().filter((call) => this.#waits(call));
  }

  #waits({ client, asks, call }: ExecutableCall): boolean {
    return client === true || (asks === true && !this.#approved.has(call));
  }

  #addCall(planned: ExecutableCall, lane: number | undefined): void {
    this.calls.set(planned.call, lane === undefined ? planned : { ...planned, lane });
    if (!isOwnTool(planned.name) && !planned.client) this.toolCalls++;
  }

  /** Whether a call was made here and counts as a tool call. */
  #isToolCall(call: number): boolean {
    const toolCall = this.calls.get(call);
    return !(toolCall && this.#waits(toolCall)) && !isOwnTool(toolCall?.name);
  }

  #applyOwnTool({ call, status }: ResultEntry): void {
    const toolCall = this.calls.get(call);
    if (status !== 'completed' || !toolCall) return;
    if (toolCall.name === UPDATE_PLAN) this.plan = parsePlan(toolCall.arguments) ?? this.plan;
    else if (toolCall.name === ASK_USER) this.question = questionIn(toolCall.arguments);
  }

  /** Calls of its own conversation that the gateway has to make, and that have no result yet. */
  pendingCalls(): ExecutableCall[] {
    return this.#unanswered().filter((call) => !this.#waits(call) && (call.lane ?? this.lane) === this.lane);
  }

  get nextCall(): number {
    return this.#run.calls.size;
  }

  #unanswered(): (ExecutableCall & { lane?: number | undefined })[] {
    return this.calls
      .values()
      .filter(({ call }) => !this.results.has(call))
      .toArray();
  }

  /** The last turn of the current attempt, unless the gateway has spoken to the model since. */
  unansweredTurn(): TurnEntry | undefined {
    const last = this.attempt().findLast((entry) => isDialogue(entry));
    return last?.t === 'turn' ? last : undefined;
  }

  /** Whether the model's last turn made no calls, and the gateway has not told it to go on. */
  isResearchDone(): boolean {
    return this.unansweredTurn()?.calls.length === 0;
  }

  /** Whether the model was reminded of its plan before the answer. */
  get hasReminded(): boolean {
    return this.ownEntries.some((entry) => entry.t === 'reminder');
  }

  /** Whether the run has started a fresh attempt, which happens once at most. */
  get hasRestarted(): boolean {
    return this.ownEntries.some((entry) => entry.t === 'restart');
  }

  /** Whether an MCP tool or a function of the client's gave a result. Such results are evidence without being sources. */
  get hasServiceResults(): boolean {
    return this.calls
      .values()
      .some(
        ({ name, call, client }) => (client || name.includes('.')) && this.results.get(call)?.status === 'completed',
      );
  }

  attempt(): readonly TranscriptEntry[] {
    const restart = this.ownEntries.findLastIndex((entry) => entry.t === 'restart');
    return restart === -1 ? this.ownEntries : this.ownEntries.slice(restart);
  }

  #noteUnreadable(call: number): void {
    const toolCall = this.calls.get(call);
    const args = toolCall?.name === 'fetch_url_content' ? parseJson(toolCall.arguments) : undefined;
    if (isObject(args) && typeof args.url === 'string') this.sources.markUnreadable(withScheme(args.url.trim()));
  }
}
