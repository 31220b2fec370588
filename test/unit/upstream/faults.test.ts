import assert from 'node:assert/strict';
import { TurnError } from '../../../src/upstream/turn.ts';
import { FAULTS, startFaultyProvider, timeoutsFor } from '../../support/provider-faults.ts';
import { chunk, frames, hang, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf, textOf } from './chat-harness.ts';

const isTurnError = (started: boolean, kind: string | undefined) => (error: unknown) => {
  assert.ok(error instanceof TurnError, String(error));
  assert.deepEqual({ started: error.started, kind: error.kind }, { started, kind });
  return true;
};

describe('a research turn with a failing first provider and a good second', () => {
  for (const fault of FAULTS) {
    const promise = {
      next: 'the second answers',
      broken: 'fails, and the next turn goes to the second',
      none: 'the first answers',
    };
    it(`${fault.name}: ${promise[fault.outcome]}`, async () => {
      await using bad = await startFaultyProvider(fault);
      await using good = await startScriptedProvider({ respond: () => turn({ text: 'second' }) });
      const { upstream, model } = chat(
        config({ bad: { base_url: bad.url, timeouts: timeoutsFor(fault) }, good: { base_url: good.url } }),
      );
      await using _ = upstream;
      if (fault.outcome === 'broken') await assert.rejects(ask(model), isTurnError(true, fault.kind));
      const parts = await ask(model);
      assert.equal(textOf(parts), fault.outcome === 'none' ? 'primary' : 'second');
      assert.equal(finishOf(parts).reason, 'stop');
      assert.equal(bad.provider?.requests.length ?? 1, fault.repeated ? 2 : 1);
      await bad.provider?.waitForActive(0);
    });
  }
});

describe('a research turn with only a failing provider', () => {
  for (const fault of FAULTS.filter(({ outcome }) => outcome === 'next')) {
    it(`${fault.name}: ${fault.retried ? 'is retried, then fails' : 'fails at once'}`, async () => {
      await using bad = await startFaultyProvider(fault);
      const { upstream, model } = chat(
        config({ bad: { base_url: bad.url, timeouts: timeoutsFor(fault), max_retries: 1 } }),
        { limiter: { pauseMs: 5, maxPauseMs: 10 } },
      );
      await using _ = upstream;
      await assert.rejects(ask(model), isTurnError(false, fault.kind));
      if (bad.provider) assert.equal(bad.provider.requests.length, fault.retried ? 2 : 1);
    });
  }

  it('fails after too many empty events, before the first word or after it', async () => {
    const nothing = Array.from({ length: 101_000 }, () => chunk({ content: '' }));
    await using provider = await startScriptedProvider();
    const { upstream, model } = chat(config({ only: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    for (const before of [[], [chunk({ content: 'a' })]]) {
      provider.respond = () => frames([...before, ...nothing, chunk({ content: 'b' }), chunk({}, 'stop')]);
      await assert.rejects(ask(model), /events that say nothing/);
    }
  });

  it('waits three times as long for an answer where streaming is refused', async () => {
    await using provider = await startScriptedProvider({
      respond: ({ body }) =>
        body.stream === true ? status(400, { message: 'Streaming is not supported for this model.' }) : hang(),
    });
    const timeouts = { first_byte: 0.1 };
    const { upstream, model } = chat(config({ only: { base_url: provider.url, timeouts, max_retries: 0 } }));
    await using _ = upstream;
    await assert.rejects(ask(model), /no answer within 300 ms/);
  });

  it('succeeds at the second try if the fault has passed', async () => {
    await using provider = await startScriptedProvider();
    const [reset] = FAULTS.filter(({ name }) => name === 'connection reset');
    provider.respond = (_, n) => (n === 0 ? (reset?.script?.(0) ?? turn()) : turn({ text: 'again' }));
    const { upstream, model } = chat(config({ only: { base_url: provider.url } }));
    await using _ = upstream;
    assert.equal(textOf(await ask(model)), 'again');
  });
});
