import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SecretMask } from '../../src/base/secrets/secret-mask.ts';
import type { DecodedTurn } from '../../src/upstream/decoding/decoded-turn.ts';
import { EventStream } from '../../src/upstream/decoding/event-stream.ts';
import { AttemptFailure } from '../../src/upstream/routing/attempt-failure.ts';
import { failureOfAnswer, failureOfStreamError } from '../../src/upstream/routing/failure-of-answer.ts';
import { WIRES } from '../../src/upstream/wires/wires.ts';
import { piecesOf, tool } from '../support/decode-turn.ts';

const FOLDER = fileURLToPath(new URL('../../../shared/recordings/', import.meta.url));

/** A text; a long one by its length and hash. */
type Text = string | { chars: number; sha256: string };

interface Entry {
  file: string;
  format: 'sse' | 'chunks' | 'json';
  status?: number;
  turn: {
    finish: string;
    text?: Text;
    thinking?: Text;
    reasoning_summary?: Text;
    reasoning_text?: Text;
    refusal?: string;
    incomplete?: string;
    error?: unknown;
    tool_calls?: {
      name?: string;
      custom?: string;
      call_id?: string;
      id?: string;
      arguments?: unknown;
      input?: unknown;
    }[];
    usage?: Record<string, number | null>;
  };
}

interface Read {
  text: string;
  reasoning: string;
  turn: DecodedTurn;
}

/** Reads a recording in pieces cut at `cuts`. */
function read(wire: 'responses' | 'messages', bytes: Buffer, cuts: readonly number[] = []): Read {
  const stream = new EventStream();
  const reader = WIRES[wire].reader({
    failureOf: (payload) => failureOfStreamError(payload, new SecretMask([])),
    tools: [tool('a_tool')],
    mayBeEmpty: true,
  });
  const said = { text: '', reasoning: '' };
  const collect = () => {
    for (const part of reader.deltas.take()) said[part.type] += part.delta;
  };
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    for (const payload of stream.feed(bytes.subarray(from, cut))) reader.accept(payload);
    collect();
    from = cut;
  }
  for (const payload of stream.end()) reader.accept(payload);
  collect();
  const { parts, turn } = reader.finish();
  for (const part of parts) said[part.type] += part.delta;
  return { ...said, turn };
}

function assertText(actual: string, expected: Text | undefined, what: string): void {
  if (expected === undefined) return;
  if (typeof expected === 'string') assert.equal(actual, expected, what);
  else
    assert.equal(
      createHash('sha256').update(actual).digest('hex'),
      expected.sha256,
      `${what}: ${actual.slice(0, 200)}`,
    );
}

const FINISH: Readonly<Record<string, string>> = {
  completed: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  incomplete: 'length',
  refusal: 'content_filter',
};

function check(wire: 'responses' | 'messages', { turn: expected, file }: Entry, { text, reasoning, turn }: Read): void {
  assertText(turn.text, expected.refusal ?? expected.text, `text of ${file}`);
  // In a spliced recording a proxy restarted a message that was shown already.
  if (!file.includes('spliced')) assertText(text, expected.refusal ?? expected.text, `shown text of ${file}`);
  const thoughts = expected.thinking ?? expected.reasoning_summary ?? expected.reasoning_text;
  if (!file.includes('spliced')) assertText(reasoning, thoughts, `reasoning of ${file}`);
  // A tool call that was cut off by the length limit must not run.
  const whole = (expected.tool_calls ?? []).filter((call) => !JSON.stringify(call).includes('"unparsable"'));
  const calls = whole.map((call) => ({
    name: call.name ?? call.custom,
    id: call.call_id ?? call.id,
    arguments: call.custom ? { input: call.input } : (call.arguments ?? call.input),
  }));
  assert.deepEqual(
    turn.calls.map((call) => ({ name: call.name, id: call.id, arguments: JSON.parse(call.arguments) })),
    calls,
  );
  assert.equal(turn.reason, calls.length > 0 && turn.reason === 'tool_calls' ? 'tool_calls' : FINISH[expected.finish]);
  const { usage } = expected;
  if (!usage) return;
  const input =
    wire === 'messages' ? (usage.input ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0) : usage.input;
  const cached = wire === 'messages' ? usage.cache_read : usage.cached;
  assert.deepEqual(
    [turn.usage?.inputTokens, turn.usage?.cachedTokens, turn.usage?.outputTokens],
    [input, cached ?? 0, usage.output],
    file,
  );
  if (wire === 'responses') assert.equal(turn.usage?.reasoningTokens, usage.reasoning, file);
}

/** The same events in other framings. */
function framings(bytes: Buffer): Buffer[] {
  const text = bytes.toString('utf8');
  return [
    text.replaceAll(/\r?\n/g, '\r\n'),
    text.replaceAll(/^event:.*\r?\n/gm, ''),
    `: hello\n\n${text.trimEnd()}`,
    text.replaceAll(/^data: /gm, 'data:'),
  ].map((framed) => Buffer.from(framed));
}

for (const wire of ['responses', 'messages'] as const) {
  describe(`recorded answers of wire ${wire}`, () => {
    const manifest = join(FOLDER, wire, 'manifest.json');
    if (!existsSync(manifest)) {
      it('are not available: skipped', function () {
        this.skip();
      });
      return;
    }
    const entries: Entry[] = JSON.parse(readFileSync(manifest, 'utf8'));
    for (const entry of entries) {
      const raw = readFileSync(join(FOLDER, wire, entry.file));
      const { finish } = entry.turn;
      if (finish === 'http_error') {
        it(`${entry.file}: is an attempt failure`, () => {
          const answer = { status: entry.status ?? 400, headers: {}, text: raw.toString('utf8') };
          const failure = failureOfAnswer(answer, new SecretMask([]), 0);
          assert.equal(failure.kind, entry.file.includes('context_length') ? 'context_length' : failure.kind);
          assert.notEqual(failure.message, '');
        });
        continue;
      }
      const lines = raw
        .toString('utf8')
        .split('\n')
        .filter((line) => line.trim() !== '');
      const bytes = entry.format === 'chunks' ? Buffer.from(lines.map((line) => `data: ${line}\n\n`).join('')) : raw;
      if (['error', 'failed', 'queued'].includes(finish)) {
        it(`${entry.file}: fails the turn`, () => {
          assert.throws(() => read(wire, bytes), AttemptFailure);
        });
        continue;
      }
      it(`${entry.file}: decodes to the expected turn under every cut and framing`, () => {
        check(wire, entry, read(wire, bytes));
        for (const size of [1, 3, 7, 64, 1000]) check(wire, entry, read(wire, bytes, piecesOf(bytes.length, size)));
        if (entry.format !== 'json') for (const framed of framings(bytes)) check(wire, entry, read(wire, framed));
      });
      if (entry.format !== 'json') {
        it(`${entry.file}: fails the turn if it is cut before its end`, () => {
          const end = bytes
            .toString('latin1')
            .replace(/data: *\[DONE\]\s*$/, '')
            .lastIndexOf('data:');
          assert.throws(() => read(wire, bytes.subarray(0, end)), AttemptFailure);
        });
      }
    }
  });
}
