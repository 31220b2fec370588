import { abortable } from '../../base/abort.ts';
import { type Allowance, budgetCallLimit, requestCallLimit } from '../run/allowance.ts';
import { exhaustedBudget, researchTokens } from '../run/budget.ts';
import type { Purse } from '../run/money.ts';
import type { ResearchRun } from '../run/run.ts';
import type { ResearchState } from '../run/state.ts';

type Resource = 'turns' | 'tokens' | 'calls' | 'cost';

type SharedRun = Pick<ResearchRun, 'budget' | 'request' | 'state' | 'purse'>;

/** A lane, and what the turn that it asks for may use, until that is counted. */
interface Sharing {
  state: ResearchState;
  held: { turns: number; tokens: number; cost: number };
  ended: boolean;
  /** Ends its waiting for what others leave. */
  wake: (() => void) | undefined;
}

const NOTHING = { turns: 0, tokens: 0, cost: 0 };

/**
 * What is left of a run's budget, shared among its lanes. Each has an even share for sure; what one leaves, and what
 * cannot be shared evenly, is for whoever asks first. A lane that has used its share waits for what others may leave. What
 * is asked for counts before it is used, so that all lanes together never use more than one would.
 */
export class LaneShares {
  readonly #run: SharedRun;
  readonly #lanes: readonly Sharing[];
  /** What all lanes may use together, and of that the part of each for sure. */
  readonly #pool: Record<Resource, number>;
  readonly #share: Record<Resource, number>;

  /** `keepCalls`: a share of the tool calls is kept for what follows the lanes, as of all else. */
  constructor(run: SharedRun, states: readonly ResearchState[], { keepCalls }: { keepCalls: boolean }) {
    this.#run = run;
    this.#lanes = states.map((state) => ({ state, held: NOTHING, ended: false, wake: undefined }));
    const { budget, state, request, purse } = run;
    const before = (resource: Resource, used: number) =>
      used - this.#lanes.reduce((sum, lane) => sum + usedBy(lane, resource), 0);
    const ofRequest = (request.maxToolCalls ?? Number.POSITIVE_INFINITY) - before('calls', state.ownToolCalls);
    const whole = {
      turns: budget.turns - before('turns', state.turns),
      tokens: researchTokens(budget) - before('tokens', state.tokens),
      calls: Math.min(budget.toolCalls - before('calls', state.toolCalls), ofRequest),
      cost: purse.isLimited ? purse.remaining - before('cost', 0) : 0,
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

  /** The turns that each lane has for sure. */
  get turns(): number {
    return this.#share.turns;
  }

  /** The lane uses nothing any more. */
  end(state: ResearchState): void {
    const lane = this.#of(state);
    lane.ended = true;
    this.#release(lane);
  }

  allowanceOf(state: ResearchState): Allowance {
    const lane = this.#of(state);
    const { budget, request } = this.#run;
    const left = (resource: Resource) => this.#left(lane, resource);
    const inTime = (elapsedMs: number) => exhaustedBudget(budget, { turns: 0, tokens: 0, elapsedMs });
    const fits = () => left('turns') >= 1 && left('tokens') > 0;
    const none = 'of the budget for research turns nothing is left for this part';
    return {
      exhausted: (elapsedMs) => inTime(elapsedMs) ?? (fits() ? undefined : none),
      acquireTurn: async (elapsedMs, signal) => {
        while (!fits() && this.#othersWork(lane)) await this.#othersLeave(lane, signal);
        const why = inTime(elapsedMs()) ?? (fits() ? undefined : none);
        if (why === undefined) lane.held = { ...NOTHING, turns: 1 };
        return why;
      },
      outputFor: (input) => left('tokens') - input,
      reserve: (most) => {
        lane.held = { turns: 1, ...most };
      },
      release: () => this.#release(lane),
      callLimit: (more) => {
        if (more < left('calls')) return undefined;
        const { maxToolCalls } = request;
        const { toolCalls, ownToolCalls } = this.#run.state;
        const isOfRequest = maxToolCalls !== null && maxToolCalls - ownToolCalls <= budget.toolCalls - toolCalls;
        return isOfRequest ? requestCallLimit(maxToolCalls) : budgetCallLimit(budget.toolCalls);
      },
      get tokensLeft() {
        return left('tokens');
      },
    };
  }

  purseOf(state: ResearchState): Purse {
    const lane = this.#of(state);
    return this.#run.purse.share(() => this.#left(lane, 'cost'));
  }

  #of(state: ResearchState): Sharing {
    const lane = this.#lanes.find((each) => each.state === state);
    if (!lane) throw new Error('no lane has this state');
    return lane;
  }

  /** What a lane may still use: what nobody has used, and no other lane has for sure. */
  #left(lane: Sharing, resource: Resource): number {
    const claimed = this.#lanes.reduce((sum, other) => {
      // What it asks for now is not counted against the lane itself.
      const used = usedBy(other === lane ? { ...other, held: NOTHING } : other, resource);
      return sum + (other === lane || other.ended ? used : Math.max(used, this.#share[resource]));
    }, 0);
    return this.#pool[resource] - claimed;
  }

  /** Whether another lane may still leave something. */
  #othersWork(lane: Sharing): boolean {
    return this.#lanes.some((other) => other !== lane && !other.ended && !other.wake);
  }

  async #othersLeave(lane: Sharing, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    lane.wake = resolve;
    await abortable(promise, signal);
  }

  /** What the lane held is counted or given back: others may have waited for it. */
  #release(lane: Sharing): void {
    lane.held = NOTHING;
    for (const other of this.#lanes) {
      other.wake?.();
      other.wake = undefined;
    }
  }
}

/** The tokens that the request of the last turn was estimated to have; 0 before the first. */
export function lastEstimate({ ownEntries: own }: Pick<ResearchState, 'ownEntries'>): number {
  return own.findLast((entry) => entry.t === 'turn')?.estimate ?? 0;
}

function usedBy({ state, held }: Sharing, resource: Resource): number {
  switch (resource) {
    case 'turns':
      return state.turns + held.turns;
    case 'tokens':
      return state.tokens + held.tokens;
    case 'calls':
      return state.toolCalls;
    case 'cost':
      return state.totalCost + held.cost;
  }
}
