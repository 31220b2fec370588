import assert from 'node:assert/strict';
import type { TurnDelta } from '../../../src/upstream/turn.ts';
import * as scripted from '../../support/scripted-provider.ts';
import { chat, config, QUESTION } from './chat-harness.ts';

const WORDS = ['one ', 'two ', 'three ', 'four ', 'five '];

/** A provider that sends each word once the one before was taken; without `ends` its answer never ends. */
function speaker(ends = true): { script: scripted.Script; taken(): void } {
  const steps = WORDS.map(() => Promise.withResolvers<void>());
  let next = 0;
  const script = scripted.frames([]);
  script.steps = WORDS.flatMap((content, n): scripted.Step[] => [
    { do: 'send', bytes: `data: ${JSON.stringify(scripted.chunk({ content }))}\n\n` },
    { do: 'until', promise: steps[n]?.promise ?? Promise.resolve() },
  ]);
  const last = `data: ${JSON.stringify(scripted.chunk({}, 'stop'))}\n\ndata: [DONE]\n\n`;
  script.steps.push(
    ...(ends ? [{ do: 'send' as const, bytes: last }, { do: 'end' as const }] : [{ do: 'hang' as const }]),
  );
  return { script, taken: () => steps[next++]?.resolve() };
}

describe('deltas given to a sink', () => {
  const signal = new AbortController().signal;

  it('come once each and in order, whether the sink takes them or leaves them to the iteration', async () => {
    const { script, taken } = speaker();
    await using provider = await scripted.startScriptedProvider({ respond: () => script });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const passed: string[] = [];
    const iterated: string[] = [];
    const all: string[] = [];
    const pass = ({ delta }: TurnDelta) => {
      if (delta === 'three ') return false;
      passed.push(delta);
      all.push(delta);
      taken();
      return true;
    };
    for await (const part of model.turn(QUESTION, { signal, sink: pass })) {
      if (part.type === 'finish') assert.equal(part.message.content, WORDS.join(''));
      if (part.type !== 'text') continue;
      iterated.push(part.delta);
      all.push(part.delta);
      taken();
    }
    assert.deepEqual(all, WORDS);
    assert.ok(iterated.includes('three '));
    assert.ok(passed.length > 0, 'nothing was passed');
  });

  it('end the turn and its connection with the error that the sink throws', async () => {
    const { script, taken } = speaker(false);
    await using provider = await scripted.startScriptedProvider({ respond: () => script });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const enough = new Error('enough');
    const pass = ({ delta }: TurnDelta) => {
      if (delta === 'four ') throw enough;
      taken();
      return true;
    };
    const turn = async () => {
      for await (const _ of model.turn(QUESTION, { signal, sink: pass })) taken();
    };
    await assert.rejects(turn(), enough);
    assert.deepEqual(await provider.requests[0]?.closed, { left: true });
  });

  it('contain no credentials', async () => {
    const { script, taken } = speaker();
    const quoted = [...'provider-secret '].map((content): scripted.Step => {
      return { do: 'send', bytes: `data: ${JSON.stringify(scripted.chunk({ content }))}\n\n` };
    });
    script.steps.splice(2, 0, ...quoted);
    await using provider = await scripted.startScriptedProvider({ respond: () => script });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, api_key: 'provider-secret' } }));
    await using _ = upstream;
    let passed = '';
    const pass = ({ delta }: TurnDelta) => {
      passed += delta;
      taken();
      return true;
    };
    for await (const part of model.turn(QUESTION, { signal, sink: pass })) if (part.type === 'text') taken();
    assert.match(passed, /\[redacted\] /);
    assert.doesNotMatch(passed, /secret/);
  });
});
