import { SecretMask } from '../../src/base/secrets/secret-mask.ts';
import type { DecodedTurn } from '../../src/upstream/decoding/decoded-turn.ts';
import { EventStream } from '../../src/upstream/decoding/event-stream.ts';
import { TurnDecoder } from '../../src/upstream/decoding/turn-decoder.ts';
import { failureOfStreamError } from '../../src/upstream/routing/failure-of-answer.ts';
import type { TurnTool } from '../../src/upstream/turn.ts';

export interface Decoded {
  reasoning: string;
  text: string;
  turn: DecodedTurn;
}

/** A provider's bytes as a turn, fed in pieces that end at `cuts`. Throws as the turn would fail. */
export function decodeTurn(
  bytes: Uint8Array,
  options: { cuts?: readonly number[]; tools?: readonly TurnTool[]; startsThinking?: boolean } = {},
): Decoded {
  const stream = new EventStream();
  const decoder = new TurnDecoder({
    failureOf: (payload) => failureOfStreamError(payload, new SecretMask([])),
    tools: options.tools,
    learned: { startsThinking: options.startsThinking ?? false, excludesReasoning: false },
  });
  const said = { reasoning: '', text: '' };
  const collect = () => {
    for (const part of decoder.deltas.take()) said[part.type] += part.delta;
  };
  let from = 0;
  for (const cut of [...(options.cuts ?? []), bytes.length]) {
    for (const payload of stream.feed(bytes.subarray(from, cut))) decoder.accept(payload);
    collect();
    from = cut;
  }
  for (const payload of stream.end()) decoder.accept(payload);
  collect();
  const { parts, turn } = decoder.finish();
  for (const part of parts) said[part.type] += part.delta;
  return { ...said, turn };
}

/** A tool with named parameters, and only the fields that dialects read. */
export function tool(name: string, parameters: Record<string, string> = {}): TurnTool {
  const properties = Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type }]));
  return { name, description: name, parameters: { type: 'object', properties } };
}

/** All ways to cut `length` bytes in two, or about `limit` of them, evenly spread. */
export function* everyCut(length: number, limit = Number.POSITIVE_INFINITY): Generator<number[]> {
  const step = Math.max(1, length / limit);
  for (let at = 1; at < length; at += step) yield [Math.floor(at)];
}

/** The cuts of `length` bytes into pieces of `size` bytes. */
export function piecesOf(length: number, size: number): number[] {
  return Array.from({ length: Math.ceil(length / size) - 1 }, (_, i) => (i + 1) * size);
}
