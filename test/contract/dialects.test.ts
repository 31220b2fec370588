import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/base/json.ts';
import { AttemptFailure } from '../../src/upstream/routing/attempt-failure.ts';
import type { TurnUsage } from '../../src/upstream/turn.ts';
import { type Decoded, decodeTurn, everyCut, piecesOf, tool } from '../support/decode-turn.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/providers');

interface Expectation {
  about: string;
  tools?: { name: string; parameters: Record<string, string> }[];
  startsThinking?: boolean;
  reasoning: string;
  text: string;
  calls: { id?: string; name: string; arguments: string }[];
  reason: string;
  usage?: TurnUsage;
  replay?: JsonObject;
  failure?: { kind: string; advice: string };
}

/** The turn without the call ids that the gateway generated. */
function comparable(decoded: Decoded) {
  const calls = decoded.turn.calls.map(({ id, ...call }) => (/^call_[0-9a-f]{24}$/.test(id) ? call : { id, ...call }));
  return { ...decoded, turn: { ...decoded.turn, calls } };
}

describe('provider dialects', () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.json'))) {
    const name = file.slice(0, -'.json'.length);
    const expected: Expectation = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
    const bytes = readFileSync(join(FOLDER, `${name}.sse`));
    const tools = expected.tools?.map((offered) => tool(offered.name, offered.parameters)) ?? [];
    const options = { tools, startsThinking: expected.startsThinking ?? false };
    const cuts = [...everyCut(bytes.length), ...[1, 2, 5].map((size) => piecesOf(bytes.length, size))];

    it(`${name}: ${expected.about}`, () => {
      const { failure } = expected;
      if (failure) {
        for (const cut of [[], ...cuts]) {
          assert.throws(
            () => decodeTurn(bytes, { ...options, cuts: cut }),
            (error) =>
              error instanceof AttemptFailure && error.kind === failure.kind && error.advice === failure.advice,
            `cut at ${cut[0]}`,
          );
        }
        return;
      }
      const whole = comparable(decodeTurn(bytes, options));
      assert.equal(whole.reasoning, expected.reasoning);
      assert.equal(whole.text, expected.text);
      assert.deepEqual(whole.turn.calls, expected.calls);
      assert.equal(whole.turn.reason, expected.reason);
      if (expected.usage) assert.deepEqual(whole.turn.usage, expected.usage);
      if (expected.replay) assert.deepEqual(whole.turn.replay, expected.replay);
      for (const cut of cuts) {
        assert.deepEqual(comparable(decodeTurn(bytes, { ...options, cuts: cut })), whole, `cut at ${cut[0]}`);
      }
    });
  }
});
