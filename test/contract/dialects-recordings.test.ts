import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptFailure } from '../../src/upstream/routing/attempt-failure.ts';
import type { TurnTool } from '../../src/upstream/turn.ts';
import { decodeTurn, everyCut, piecesOf, tool } from '../support/decode-turn.ts';

const FOLDER = join(import.meta.dirname, '../../../shared/recordings');

interface Entry {
  file: string;
  format: 'sse' | 'chunks';
  request?: string;
  features: {
    finish_reasons: string[];
    reasoning_chars?: number;
    content_chars?: number;
    tool_calls?: { ids: number; names: number }[];
    usage_chunks?: number;
    think_tags?: boolean;
  };
}

/** The recording as it came over the wire. */
function bytesOf(entry: Entry): Buffer {
  const bytes = readFileSync(join(FOLDER, entry.file));
  if (entry.format === 'sse') return bytes;
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return Buffer.from(`${lines.map((line) => `data: ${line}\n\n`).join('')}data: [DONE]\n\n`);
}

/** Joins the fields of the frames without any of the code under test. */
function plainReading(bytes: Buffer) {
  const reading = {
    reasoning: '',
    text: '',
    calls: new Map<string, { name: string; arguments: string }>(),
    finish: '',
    usage: undefined as Usage,
  };
  let current = '';
  for (const line of bytes.toString('utf8').split(/\r?\n/)) {
    if (!line.startsWith('data: {')) continue;
    const frame = JSON.parse(line.slice(6));
    const choice = frame.choices?.[0];
    reading.reasoning += choice?.delta?.reasoning_content ?? choice?.delta?.reasoning ?? '';
    reading.text += choice?.delta?.content ?? '';
    for (const call of choice?.delta?.tool_calls ?? []) {
      if (call.id) current = call.id;
      const known = reading.calls.get(current) ?? { name: '', arguments: '' };
      reading.calls.set(current, {
        name: known.name || call.function.name,
        arguments: known.arguments + (call.function.arguments ?? ''),
      });
    }
    reading.finish = choice?.finish_reason ?? reading.finish;
    reading.usage = frame.usage ?? reading.usage;
  }
  return reading;
}
type Usage =
  | {
      prompt_tokens: number;
      completion_tokens: number;
      total_tokens: number;
      completion_tokens_details?: { reasoning_tokens?: number };
    }
  | undefined;

function toolsOf(entry: Entry): TurnTool[] {
  if (!entry.request) return [tool('webSearchTool'), tool('nonUsefulTool'), tool('read_file')];
  const request = JSON.parse(readFileSync(join(FOLDER, entry.request), 'utf8'));
  return (request.tools ?? []).map((offered: { function: TurnTool }) => offered.function);
}

function framings(bytes: Buffer): [string, Buffer][] {
  const text = bytes.toString('utf8');
  return [
    ['CRLF', Buffer.from(text.replaceAll('\n', '\r\n'))],
    ['CR', Buffer.from(text.replaceAll('\n', '\r'))],
    ['single newlines', Buffer.from(text.replace(/\n\n/g, '\n'))],
    ['comments', Buffer.from(text.replace(/\n\n/g, '\n\n: keep-alive\n\n'))],
    ['no space after the colon', Buffer.from(text.replace(/^data: /gm, 'data:'))],
    ['no [DONE]', Buffer.from(text.replace(/data: \[DONE\]\s*/, ''))],
    ['no blank line at the end', Buffer.from(text.trimEnd())],
    ['a byte order mark', Buffer.from(`\uFEFF${text}`)],
  ];
}

describe('recorded streams of real providers', () => {
  const manifest = join(FOLDER, 'manifest.json');
  if (!existsSync(manifest)) {
    it('are not available: skipped', function () {
      this.skip();
    });
    return;
  }
  const entries: Entry[] = JSON.parse(readFileSync(manifest, 'utf8'));
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
    // The other wires have manifests and tests of their own.
    /^(?!responses\/|messages\/).*\.(sse|chunks\.txt)$/.test(file),
  );

  it('are all listed in the manifest', () => {
    assert.deepEqual(entries.map((entry) => entry.file).sort(), files.sort());
  });

  for (const entry of entries) {
    const bytes = bytesOf(entry);
    const tools = toolsOf(entry);
    if (entry.features.finish_reasons.length === 0) {
      it(`${entry.file}: fails the turn if the stream has no end, under every cut`, () => {
        for (const cuts of [[], ...everyCut(bytes.length)]) {
          assert.throws(() => decodeTurn(bytes, { cuts, tools }), AttemptFailure);
        }
      });
      continue;
    }

    it(`${entry.file}: decodes to the expected turn`, () => {
      const { reasoning, text, turn } = decodeTurn(bytes, { tools });
      const plain = plainReading(bytes);
      assert.equal(reasoning, plain.reasoning);
      assert.equal(text, plain.text);
      if (entry.features.reasoning_chars !== undefined) assert.equal(reasoning.length, entry.features.reasoning_chars);
      assert.deepEqual(
        turn.calls,
        [...plain.calls].map(([id, call]) => ({ id, ...call })),
      );
      for (const call of turn.calls) JSON.parse(call.arguments);
      assert.equal(turn.reason, plain.calls.size > 0 ? 'tool_calls' : plain.finish);
      if (plain.usage) {
        assert.equal(turn.usage?.inputTokens, plain.usage.prompt_tokens);
        const { completion_tokens: completion = 0, completion_tokens_details: details } = plain.usage;
        const reported = plain.usage.total_tokens - plain.usage.prompt_tokens;
        // Gemini through a gateway reports reasoning beside the completion tokens; both are charged.
        const beside = (details?.reasoning_tokens ?? 0) > completion && reported === completion;
        assert.equal(turn.usage?.outputTokens, beside ? completion + (details?.reasoning_tokens ?? 0) : reported);
      }
    });

    it(`${entry.file}: decodes to the same turn however it is cut and framed`, () => {
      const whole = decodeTurn(bytes, { tools });
      const cuts = [...everyCut(bytes.length, 400)];
      for (const size of [1, 7, 64, 1000]) cuts.push(piecesOf(bytes.length, size));
      for (const cut of cuts) assert.deepEqual(decodeTurn(bytes, { cuts: cut, tools }), whole, `cut at ${cut[0]}`);
      for (const [name, framed] of framings(bytes)) {
        assert.deepEqual(decodeTurn(framed, { tools }), whole, name);
        for (const cut of everyCut(framed.length, 20)) {
          assert.deepEqual(decodeTurn(framed, { cuts: cut, tools }), whole, `${name}, cut at ${cut[0]}`);
        }
        assert.deepEqual(decodeTurn(framed, { cuts: piecesOf(framed.length, 3), tools }), whole, `${name}, in threes`);
      }
    });
  }
});
