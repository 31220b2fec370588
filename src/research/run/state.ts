import { isObject, parseJson } from '../../base/json.ts';
import { type Plan, planIn, UPDATE_PLAN, withStatus } from '../../protocol/plan.ts';
import type { Usage } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { ASK_USER, isOwnTool, questionIn } from './own-tools.ts';
import { ReportState } from './report-state.ts';
import type { EarlierSource } from './request.ts';
import { SourceRegistry } from './sources.ts';
import { type Pricing, Spending } from './spending.ts';
import { isSpoken } from './spoken.ts';
import type {
  AnsweredEntry,
  ExecutableCall,
  Forced,
  JoinedEntry,
  LanesEntry,
  OpeningEntry,
  ResultEntry,
  TranscriptEntry,
  TurnEntry,
} from './transcript.ts';
import { addWarning } from './warnings.ts';

/** The state of a research run: the fold of its transcript. A lane has one of its own; the numbers are the run's. */
export class ResearchState {
  /** Whose state it is: a lane's number, or undefined. */
  readonly lane: number | undefined;
  readonly #run: ResearchState;
  readonly #lanes = new Map<number, ResearchState>();
  /** All entries: a run's with those of its lanes. */
  readonly entries: TranscriptEntry[] = [];
  /** The entries of its own conversation with the model. */
  readonly own: TranscriptEntry[] = [];
  readonly sources: SourceRegistry;
  readonly report = new ReportState();
  /** Calls that were given a number, executed or about to be. */
  readonly made = new Map<number, ExecutableCall & { lane?: number | undefined }>();
  /** Results in the order in which they came. */
  readonly results = new Map<number, ResultEntry>();
  /** Calls of `made` that count: all but those that write the plan. */
  toolCalls = 0;
  /** What the user is asked instead of an answer, if anything. */
  question: string | undefined;
  /** The plan as the model wrote it last. */
  plan: Plan | undefined;
  /** Finished research turns. */
  turns = 0;
  elapsedMs = 0;
  forced: Forced | undefined;
  answered: AnsweredEntry | undefined;
  /** The lanes of the research, once there are any, and how they ended. */
  lanes: LanesEntry | undefined;
  joined: JoinedEntry | undefined;
  /** What every request begins with, as it was at the first one. */
  opening: OpeningEntry | undefined;
  /** The length of the answer whose tokens are counted, in UTF-16 code units, and these tokens. */
  answerLength = 0;
  answerTokens = 0;
  route: TurnEntry['route'];
  #money: Pricing | undefined;
  readonly spending = new Spending(() => this.route?.price);
  /** Calls that the client has approved, those of this response in the order in which it begins with them. */
  readonly #approved = new Set<number>();
  approvedHere: number[] = [];
  /** What earlier responses of this research used: its budgets count it, its usage does not. */
  #carried = { tokens: 0, cost: 0, turns: 0, calls: 0, toolCalls: 0 };
  /** What was noted for the client, each once. */
  readonly warnings: Warning[] = [];

  constructor(lane?: { number: number; run: ResearchState }) {
    this.lane = lane?.number;
    this.#run = lane?.run ?? this;
    this.sources = lane?.run.sources ?? new SourceRegistry();
  }

  /**
   * The state after the given entries, as stored. Sources of an earlier run of the conversation come first; `before`:
   * entries of the responses that this one goes on from.
   */
  static of(
    entries: Iterable<TranscriptEntry>,
    earlier: readonly EarlierSource[] = [],
    before: readonly TranscriptEntry[] = [],
  ): ResearchState {
    const state = new ResearchState();
    state.sources.note(state.sources.add(earlier.map((source) => ({ ...source, kind: 'listed' }))));
    for (const entry of before) state.apply(entry);
    state.#carry();
    for (const entry of entries) state.apply(entry);
    return state;
  }

  /** Takes an entry of its own. That of a lane is one of the run, too. */
  apply(entry: TranscriptEntry): void {
    if (this.lane !== undefined) entry.lane = this.lane;
    this.#run.#take(entry);
  }

  laneOf(number: number): ResearchState {
    let lane = this.#lanes.get(number);
    if (!lane) {
      lane = new ResearchState({ number, run: this });
      lane.route = this.route;
      if (this.#money) lane.useMoney(this.#money);
      this.#lanes.set(number, lane);
    }
    return lane;
  }

  #take(entry: TranscriptEntry): void {
    this.entries.push(entry);
    this.#count(entry);
    if (entry.lane === this.lane) this.#follow(entry);
    else if (entry.lane !== undefined) this.laneOf(entry.lane).#take(entry);
  }

  /** What an entry used and found, whoever's it is. */
  #count(entry: TranscriptEntry): void {
    switch (entry.t) {
      case 'turn':
        this.turns++;
        this.elapsedMs = Math.max(this.elapsedMs, entry.elapsedMs);
        this.spending.spend(entry.usage);
        for (const planned of entry.calls) if ('call' in planned) this.#make(planned, entry.lane);
        this.route = entry.route ?? this.route;
        break;
      case 'result':
        this.results.set(entry.call, entry);
        this.sources.note(entry.sources);
        if (entry.status === 'failed') this.#noteUnreadable(entry.call);
        if (this.#counts(entry.call)) this.usage.num_tool_calls++;
        this.usage.num_search_queries += entry.queries;
        break;
      case 'spent':
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

  /** What an entry of its own conversation says. */
  #follow(entry: TranscriptEntry): void {
    this.own.push(entry);
    this.report.apply(entry);
    switch (entry.t) {
      case 'turn':
        this.answerLength = 0;
        this.answerTokens = 0;
        this.forced ??= entry.forced;
        this.opening ??= entry.opening;
        break;
      case 'result':
        this.#takeOwn(entry);
        break;
      case 'force':
        this.forced ??= entry;
        break;
      case 'lanes':
        this.lanes = entry;
        if (this.plan) this.plan = withStatus(this.plan, entry.tasks.flat(), 'doing');
        break;
      case 'joined': {
        this.joined = entry;
        const done = entry.done.flatMap((lane) => this.lanes?.tasks[lane - 1] ?? []);
        if (this.plan) this.plan = withStatus(this.plan, done, 'done');
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

  /** Tells what money is counted in, and what a turn costs whose route is not known. */
  useMoney(money: Pricing): void {
    this.#money = money;
    for (const state of [this, ...this.#lanes.values()]) state.spending.useMoney(money);
  }

  get usage(): Usage {
    return this.spending.usage;
  }

  /** What the run cost, on routes that have prices. */
  get cost(): number {
    return this.spending.cost;
  }

  /** From here on what is used is this response's. */
  #carry(): void {
    const { usage, cost, turns, toolCalls } = this;
    this.#carried = { tokens: usage.total_tokens, cost, turns, calls: this.made.size, toolCalls };
    this.approvedHere = [];
    this.spending.startOver();
  }

  /** Tokens that the whole research used, earlier responses included. */
  get tokens(): number {
    return this.#carried.tokens + this.usage.total_tokens;
  }

  /** What the whole research cost. */
  get costInAll(): number {
    return this.#carried.cost + this.cost;
  }

  /** Calls that were made in earlier responses: numbers of this one's come behind. */
  get carriedCalls(): number {
    return this.#carried.calls;
  }

  get ownTurns(): number {
    return this.turns - this.#carried.turns;
  }

  get ownToolCalls(): number {
    return this.toolCalls - this.#carried.toolCalls;
  }

  /** Calls that wait for the client: of its own functions, and those that it has not approved yet. */
  waitingCalls(): ExecutableCall[] {
    return this.#unanswered().filter((made) => this.#waits(made));
  }

  #waits({ client, asks, call }: ExecutableCall): boolean {
    return client === true || (asks === true && !this.#approved.has(call));
  }

  #make(planned: ExecutableCall, lane: number | undefined): void {
    this.made.set(planned.call, lane === undefined ? planned : { ...planned, lane });
    if (!isOwnTool(planned.name) && !planned.client) this.toolCalls++;
  }

  /** Whether a call was made here and is one of the run's. */
  #counts(call: number): boolean {
    const made = this.made.get(call);
    return !(made && this.#waits(made)) && !isOwnTool(made?.name);
  }

  #takeOwn({ call, status }: ResultEntry): void {
    const made = this.made.get(call);
    if (status !== 'completed' || !made) return;
    if (made.name === UPDATE_PLAN) this.plan = planIn(made.arguments) ?? this.plan;
    else if (made.name === ASK_USER) this.question = questionIn(made.arguments);
  }

  /** Calls that are to be made here, for its own conversation, and have no result yet. */
  pendingCalls(): ExecutableCall[] {
    return this.#unanswered().filter((made) => !this.#waits(made) && (made.lane ?? this.lane) === this.lane);
  }

  /** Working time of the run so far, in milliseconds, whoever of it worked. */
  get workedMs(): number {
    return this.#run.elapsedMs;
  }

  /** The number that the next call of the run gets. */
  get nextCall(): number {
    return this.#run.made.size;
  }

  #unanswered(): (ExecutableCall & { lane?: number | undefined })[] {
    return this.made
      .values()
      .filter(({ call }) => !this.results.has(call))
      .toArray();
  }

  /** The last turn of the attempt that runs now, unless the gateway spoke to the model since. */
  unansweredTurn(): TurnEntry | undefined {
    const last = this.attempt().findLast((entry) => isSpoken(entry));
    return last?.t === 'turn' ? last : undefined;
  }

  /** Whether the model asked for nothing more, and the gateway did not ask it to go on. */
  researched(): boolean {
    return this.unansweredTurn()?.calls.length === 0;
  }

  /** Whether the model was told of its plan before the answer. */
  get reminded(): boolean {
    return this.own.some((entry) => entry.t === 'reminder');
  }

  /** Whether the run has begun anew. It does so once. */
  get restarted(): boolean {
    return this.own.some((entry) => entry.t === 'restart');
  }

  /** Whether a tool of an MCP server or a function of the client's gave a result: these give results, not sources. */
  get served(): boolean {
    return this.made
      .values()
      .some(
        ({ name, call, client }) => (client || name.includes('.')) && this.results.get(call)?.status === 'completed',
      );
  }

  /** The entries of the attempt that runs now. */
  attempt(): readonly TranscriptEntry[] {
    const restart = this.own.findLastIndex((entry) => entry.t === 'restart');
    return restart === -1 ? this.own : this.own.slice(restart);
  }

  #noteUnreadable(call: number): void {
    const made = this.made.get(call);
    const args = made?.name === 'fetch_url_content' ? parseJson(made.arguments) : undefined;
    if (isObject(args) && typeof args.url === 'string') this.sources.failedToRead(args.url);
  }
}
