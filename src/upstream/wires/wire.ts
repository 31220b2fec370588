import type { JsonObject } from '../../base/json.ts';
import type { DecodedTurn, DecoderOptions, Delta, Deltas } from '../decoding/decoded-turn.ts';
import type { ToolNames } from '../dialects/requests/tool-names.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import type { Adaptation, TurnRequest, TurnUsage } from '../turn.ts';
import type { RunTraits } from './replayed.ts';

/** The route that a request is written for. */
export interface BodyTarget {
  provider: string;
  /** The provider's name of the model. */
  model: string;
  traits: RequestTraits;
  run: RunTraits;
}

/** The body of a request, and the mapping of its tool names. */
export interface WireRequest {
  body: JsonObject;
  names: ToolNames;
  /** What the API itself does not take as it was asked for; refusals that were learned are known to the traits. */
  adapted?: readonly Adaptation[];
}

/** Reads the payloads of one streamed turn. */
export interface TurnReader {
  /** Whether the provider sent its finish reason. */
  readonly finished: boolean;
  readonly usage: TurnUsage | undefined;
  /** Whether the model has produced any output, emitted or not. */
  readonly hasOutput: boolean;
  /** Whether the provider says that the model is thinking, so that a long silence is normal. */
  readonly isThinking?: boolean;
  /** The output so far. */
  readonly deltas: Deltas;
  /** @throws AttemptFailure for an error inside the stream. */
  accept(payload: Record<string, unknown>): void;
  /** Ends the turn. @throws AttemptFailure if it is not whole. */
  finish(): { parts: Delta[]; turn: DecodedTurn };
}

/** An API that turns are requested from: how a request is written and how its answer is read. */
export interface Wire {
  /** The path after the provider's base address. */
  path: string;
  api: string;
  /** Nothing follows the final event, so the end of the body need not be awaited. */
  endsWithEvent?: true;
  request(request: TurnRequest, target: BodyTarget): WireRequest;
  reader(options: DecoderOptions): TurnReader;
}
