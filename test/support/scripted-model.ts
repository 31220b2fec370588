import type {
  AssistantMessage,
  ChatModel,
  FinishReason,
  TurnPart,
  TurnRequest,
  TurnUsage,
} from '../../src/upstream/turn.ts';
import { TurnError } from '../../src/upstream/turn.ts';

/** The output of a scripted turn, in order. */
export interface ScriptedTurn {
  reasoning?: string[];
  text?: string[];
  calls?: { name: string; arguments: unknown }[];
  finish?: FinishReason;
  usage?: Partial<TurnUsage>;
  /** Breaks the turn after its deltas instead of finishing it. */
  breaks?: Error;
  /** Awaited before the turn says anything. */
  gate?: Promise<unknown>;
}

export const TURN_USAGE: TurnUsage = {
  inputTokens: 10,
  cachedTokens: 2,
  outputTokens: 5,
  reasoningTokens: 3,
  estimated: false,
};

/** An in-process model that answers each request by a function, and records the requests. */
export class ScriptedModel implements ChatModel {
  readonly requests: TurnRequest[] = [];
  readonly #respond: (request: TurnRequest, n: number) => ScriptedTurn;

  constructor(respond: ScriptedTurn[] | ((request: TurnRequest, n: number) => ScriptedTurn)) {
    this.#respond = Array.isArray(respond) ? (_request, n) => respond[n] ?? { text: ['done'] } : respond;
  }

  async *turn(request: TurnRequest, { signal }: { signal: AbortSignal }): AsyncGenerator<TurnPart> {
    const n = this.requests.push(request) - 1;
    const turn = this.#respond(request, n);
    signal.throwIfAborted();
    if (turn.gate) await abortableGate(turn.gate, signal);
    signal.throwIfAborted();
    for (const delta of turn.reasoning ?? []) yield { type: 'reasoning', delta };
    for (const delta of turn.text ?? []) yield { type: 'text', delta };
    if (turn.breaks) throw turn.breaks;
    const tool_calls = (turn.calls ?? []).map((call, index) => ({
      id: `call_${n}_${index}`,
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    }));
    for (const call of tool_calls) yield { type: 'tool_call', call };
    const message: AssistantMessage = {
      role: 'assistant',
      content: (turn.text ?? []).join(''),
      ...(tool_calls.length > 0 ? { tool_calls } : {}),
    };
    const reason = turn.finish ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop');
    yield { type: 'finish', reason, usage: { ...TURN_USAGE, ...turn.usage }, message };
  }
}

/** Whether a request is that of the answer turn. */
export function isAnswerTurn(request: Pick<TurnRequest, 'tools' | 'toolChoice'>): boolean {
  return !request.tools || request.tools.length === 0 || request.toolChoice === 'none';
}

/** The error of a turn that its provider cut off. */
export function cutTurn(): TurnError {
  return new TurnError('failed', 'the connection was cut', {
    started: true,
    usage: { ...TURN_USAGE, estimated: true },
  });
}

function abortableGate(gate: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    gate.then(() => resolve(), reject);
  });
}
