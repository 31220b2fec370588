import type { JsonObject } from '../../base/json.ts';
import type { DecodedTurn, DecoderOptions, Delta, Deltas } from '../decoding/decoded-turn.ts';
import type { ToolNames } from '../dialects/requests/tool-names.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import type { TurnRequest, TurnUsage } from '../turn.ts';
import type { RunTraits } from './replayed.ts';

/** What a request is made for. */
export interface BodyTarget {
  provider: string;
  /** The provider's name of the model. */
  model: string;
  traits: RequestTraits;
  run: RunTraits;
}

/** A request as it goes out, and how its tool names are read. */
export interface WireRequest {
  body: JsonObject;
  names: ToolNames;
}

/** Reads the payloads of one streamed turn. */
export interface TurnReader {
  /** Whether the provider told why it stopped. */
  readonly finished: boolean;
  readonly usage: TurnUsage | undefined;
  /** Whether the model has said anything, delivered or not. */
  readonly hasOutput: boolean;
  /** Whether the provider told that the model thinks, where it may show nothing of that for long. */
  readonly isThinking?: boolean;
  /** The output so far. */
  readonly deltas: Deltas;
  /** @throws AttemptFailure for an error inside the stream. */
  accept(payload: Record<string, unknown>): void;
  /** Ends the turn. @throws AttemptFailure if it is not whole. */
  finish(): { parts: Delta[]; turn: DecodedTurn };
}

/** An API that a turn can be asked for: how a request looks and how its answer is read. */
export interface Wire {
  /** After the provider's base address. */
  path: string;
  api: string;
  /** Nothing follows the event that tells the end: the end of the body need not be waited for. */
  endsWithEvent?: true;
  request(request: TurnRequest, target: BodyTarget): WireRequest;
  reader(options: DecoderOptions): TurnReader;
}
