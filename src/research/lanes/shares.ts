import { abortable } from '../../base/abort.ts';
import { type Allowance, budgetCallLimit, requestCallLimit } from '../run/allowance.ts';
import { exhaustedBudget, researchTokens } from '../run/budget.ts';
import type { CostBudget } from '../run/cost-budget.ts';
import type { ResearchRun } from '../run/run.ts';
import type { ResearchState } from '../run/state.ts';

type Resource = 'turns' | 'tokens' | 'calls' | 'cost';

type SharedRun = Pick<ResearchRun, 'budget' | 'request' | 'state' | 'costBudget'>;

/** What a lane has used, and what it has reserved for its current turn until the turn is counted. */
interface LaneUsage {
  state: ResearchState;
  reserved: { turns: number; tokens: number; cost: number };
  ended: boolean;
  /** Set while it waits for what others may leave. */
  wake: (() => void) | undefined;
}

const NOTHING = { turns: 0, tokens: 0, cost: 0 };

/**
 * Shares what is left of a run's budget among its lanes. Each lane is guaranteed an even share; what one leaves, and what
 * cannot be divided evenly, goes to whoever asks first. A lane that has used its share waits for what others may leave.
 * Usage is reserved before it happens, so that all lanes together never use more than a single one could.
 */
export class LaneShares {
  readonly #run: SharedRun;
  readonly #lanes: readonly LaneUsage[];
  /** What all lanes may use together, and the part that each of them is guaranteed. */
  readonly #pool: Record<Resource, number>;
  readonly #share: Record<Resource, number>;

  /** `keepCalls`: reserves a share of the tool calls for what follows the lanes; of everything else one always is. */
  constructor(run: SharedRun, states: readonly ResearchState[], { keepCalls }: { keepCalls: boolean }) {
    this.#run = run;
    this.#lanes = states.map((state) => ({ state, reserved: NOTHING, ended: false, wake: undefined }));
    const { budget, state, request, costBudget } = run;
    const before = (resource: Resource, used: number) =>
      used - this.#lanes.reduce((sum, lane) => sum + usedBy(lane, resource), 0);
    const ofRequest = (request.maxToolCalls ?? Number.POSITIVE_INFINITY) - before('calls', state.ownToolCalls);
    const whole = {
      turns: budget.turns - before('turns', state.turns),
      tokens: researchTokens(budget) - before('tokens', state.tokens),
      calls: Math.min(budget.toolCalls - before('calls', state.toolCalls), ofRequest),
      cost: costBudget.isLimited ? costBudget.remaining - before('cost', 0) : 0,
    };
    const parts = states.length;
    this.#share = {
      turns: Math.floor(whole.turns / (parts + 1)),
      tokens: whole.tokens / (parts + 1),
      calls: Math.floor(whole.calls / (keepCalls ? parts + 1 : parts)),
      cost: whole.cost / (parts + 1),
    };
    const { turns, tokens, calls, cost } = this.#share;
    this.#pool = {
      turns: whole.turns - turns,
      tokens: whole.tokens - tokens,
      calls: whole.calls - (keepCalls ? calls : 0),
      cost: whole.cost - cost,
    };
  }

  /** The turns that each lane is guaranteed. */
  get turns(): number {
    return this.#share.turns;
  }

  /** Marks a lane as ended: what it has not used is for the others. */
  end(state: ResearchState): void {
    const lane = this.#of(state);
    lane.ended = true;
    this.#release(lane);
  }

  allowanceOf(state: ResearchState): Allowance {
    const lane = this.#of(state);
    const { budget, request } = this.#run;
    const available = (resource: Resource) => this.#available(lane, resource);
    const inTime = (elapsedMs: number) => exhaustedBudget(budget, { turns: 0, tokens: 0, elapsedMs });
    const fits = () => available('turns') >= 1 && available('tokens') > 0;
    const usedUp = 'nothing of the budget for research turns is left for this part';
    return {
      exhausted: (elapsedMs) => inTime(elapsedMs) ?? (fits() ? undefined : usedUp),
      acquireTurn: async (elapsedMs, signal) => {
        while (!fits() && this.#othersMayLeaveSome(lane)) await this.#waitForOthers(lane, signal);
        const why = inTime(elapsedMs()) ?? (fits() ? undefined : usedUp);
        if (why === undefined) lane.reserved = { ...NOTHING, turns: 1 };
        return why;
      },
      outputFor: (input) => available('tokens') - input,
      reserve: (max) => {
        lane.reserved = { turns: 1, ...max };
      },
      release: () => this.#release(lane),
      callLimit: (more) => {
        if (more < available('calls')) return undefined;
        const { maxToolCalls } = request;
        const { toolCalls, ownToolCalls } = this.#run.state;
        const isOfRequest = maxToolCalls !== null && maxToolCalls - ownToolCalls <= budget.toolCalls - toolCalls;
        return isOfRequest ? requestCallLimit(maxToolCalls) : budgetCallLimit(budget.toolCalls);
      },
      get tokensLeft() {
        return available('tokens');
      },
    };
  }

  costBudgetOf(state: ResearchState): CostBudget {
    const lane = this.#of(state);
    return this.#run.costBudget.share(() => this.#available(lane, 'cost'));
  }

  #of(state: ResearchState): LaneUsage {
    const lane = this.#lanes.find((each) => each.state === state);
    if (!lane) throw new Error('no lane has this state');
    return lane;
  }

  /** What a lane may still use: the pool without what is used, reserved or guaranteed to other lanes. */
  #available(lane: LaneUsage, resource: Resource): number {
    const claimed = this.#lanes.reduce((sum, other) => {
      // A lane's own reservation does not count against itself.
      const used = usedBy(other === lane ? { ...other, reserved: NOTHING } : other, resource);
      return sum + (other === lane || other.ended ? used : Math.max(used, this.#share[resource]));
    }, 0);
    return this.#pool[resource] - claimed;
  }

  /** Whether another lane may still leave something. */
  #othersMayLeaveSome(lane: LaneUsage): boolean {
    return this.#lanes.some((other) => other !== lane && !other.ended && !other.wake);
  }

  async #waitForOthers(lane: LaneUsage, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    lane.wake = resolve;
    await abortable(promise, signal);
  }

  /** Ends a reservation, once it is counted or given up, and wakes the lanes that wait. */
  #release(lane: LaneUsage): void {
    lane.reserved = NOTHING;
    for (const other of this.#lanes) {
      other.wake?.();
      other.wake = undefined;
    }
  }
}

/** The estimated tokens of the last turn's request; 0 before the first turn. */
export function lastEstimate({ ownEntries: own }: Pick<ResearchState, 'ownEntries'>): number {
  return own.findLast((entry) => entry.t === 'turn')?.estimate ?? 0;
}

function usedBy({ state, reserved }: LaneUsage, resource: Resource): number {
  switch (resource) {
    case 'turns':
      return state.turns + reserved.turns;
    case 'tokens':
      return state.tokens + reserved.tokens;
    case 'calls':
      return state.toolCalls;
    case 'cost':
      return state.totalCost + reserved.cost;
  }
}
