import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { newRunId } from '../../../src/base/ids.ts';
import { Executor } from '../../../src/runs/executing/executor.ts';
import type { ExecutorOptions } from '../../../src/runs/executing/executor-options.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { type Harness, openHarness, question, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

/** How often claims are renewed, in milliseconds. */
const RENEW_MS = 1000;
/** How many cancels are remembered for runs that this process does not drive. */
const MAX_CANCELS = 10_000;

/** An executor that claims no run by itself. */
class IdleExecutor extends Executor {
  /** Whether runs begin as they are submitted. */
  serves = false;
  async start() {}
  wake() {}
  override takeRoom(how: { later?: boolean } = {}) {
    if (this.serves) return super.takeRoom(how);
    const room = how.later ? super.takeRoom(how) : undefined;
    // A chat completion begins in a process that dies at once.
    return room && { ...room, claim: { leaseMs: 1 }, begin: () => {} };
  }
  async stop(how: { graceMs: number }) {
    await this.handOver(how);
  }
}

/** An `IdleExecutor` over a model that thinks until its gate opens. */
class Driven implements AsyncDisposable {
  readonly store: RunStore;
  readonly chat: ScriptedModel;
  readonly renewed: string[] = [];
  now = Date.now();
  readonly #gate = Promise.withResolvers<void>();
  readonly #refused = new Set<string>();
  #active: IdleExecutor | undefined;
  #harness: Harness | undefined;

  private constructor(inner: RunStore) {
    this.store = wrapStore(inner, {
      renew: (id, options) => {
        this.renewed.push(id);
        return inner.renew(id, options);
      },
    });
    this.chat = new ScriptedModel((request) => {
      const gate = this.#gate.promise;
      return isAnswerTurn(request) ? { text: ['done'], gate } : { calls: [{ name: 'lookup', arguments: {} }], gate };
    });
  }

  static async open(): Promise<Driven> {
    const driven = new Driven(await memoryStore());
    driven.#harness = await openHarness({
      clock: { now: () => driven.now },
      chat: driven.chat,
      tools: [testTool('lookup', () => ({ result: '{}' }))],
      store: driven.store,
      executor: (options) => driven.#executor(options),
    });
    return driven;
  }

  #executor(options: ExecutorOptions): Executor {
    this.#active = new IdleExecutor({ ...options, mayRun: (run) => !this.#refused.has(run.id) });
    return this.#active;
  }

  get active(): IdleExecutor {
    return this.#active ?? assert.fail();
  }

  async submit(api: RunRecord['api'] = 'responses'): Promise<RunRecord> {
    return (await (this.#harness ?? assert.fail()).runs.submit(question({ api }))).run;
  }

  /** Claims and drives a run; resolves with how that ended. */
  async drive({ id }: RunRecord): Promise<string> {
    return await this.active.drive((await this.active.claim(id, { force: true })) ?? assert.fail());
  }

  async status({ id }: RunRecord): Promise<string | undefined> {
    return (await this.store.get(id))?.status;
  }

  /** From now on this run may not be driven. */
  refuse({ id }: RunRecord): void {
    this.#refused.add(id);
  }

  /** Lets the model continue. */
  goOn(): void {
    this.#gate.resolve();
  }

  async asked(times: number): Promise<void> {
    while (this.chat.requests.length < times) await turnOfLoop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.goOn();
    mock.timers.reset();
    await this.#harness?.[Symbol.asyncDispose]();
    await this.store.close();
  }
}

describe('Executor', () => {
  it('renews each of its runs once a second, and stops with the last one', async () => {
    await using driven = await Driven.open();
    mock.timers.enable({ apis: ['setInterval'] });
    const runs = [await driven.submit(), await driven.submit()];
    const ends = runs.map((run) => driven.drive(run));
    await driven.asked(2);
    for (const times of [1, 2]) {
      mock.timers.tick(RENEW_MS);
      for (const { id } of runs) assert.equal(driven.renewed.filter((renewed) => renewed === id).length, times);
    }
    driven.active.cancel(runs[0]?.id ?? '');
    await ends[0];
    mock.timers.tick(RENEW_MS);
    assert.deepEqual(driven.renewed.slice(4), [runs[1]?.id], 'the other one goes on');

    const next = await driven.submit();
    const [, second] = [driven.active.cancel(runs[1]?.id ?? ''), await ends[1]];
    assert.equal(second, 'ended');
    mock.timers.tick(5 * RENEW_MS);
    assert.equal(driven.renewed.length, 5);
    const last = driven.drive(next);
    await driven.asked(3);
    mock.timers.tick(RENEW_MS);
    assert.deepEqual(driven.renewed.slice(5), [next.id], 'once, as at first');
    driven.goOn();
    await last;
  });

  it('ends a run as cancelled if it may not run, when it is claimed or later', async () => {
    await using driven = await Driven.open();
    const refused = await driven.submit();
    driven.refuse(refused);
    assert.equal(await driven.drive(refused), 'ended');
    assert.equal(await driven.status(refused), 'cancelled');
    assert.equal(driven.chat.requests.length, 0);

    mock.timers.enable({ apis: ['setInterval'] });
    const [later, other] = [await driven.submit(), await driven.submit()];
    const ends = [driven.drive(later), driven.drive(other)];
    await driven.asked(2);
    driven.refuse(later);
    mock.timers.tick(RENEW_MS);
    await ends[0];
    assert.equal(await driven.status(later), 'cancelled');
    assert.equal(await driven.status(other), 'in_progress');
  });

  it('cancels at once, and a run that was cancelled before its claim reaches no model', async () => {
    await using driven = await Driven.open();
    const running = await driven.submit();
    const end = driven.drive(running);
    await driven.asked(1);
    assert.equal(driven.active.cancel(running.id), true);
    await end;
    assert.equal(await driven.status(running), 'cancelled');

    const waiting = await driven.submit();
    assert.equal(driven.active.cancel(waiting.id), false, 'it is driven nowhere');
    await driven.drive(waiting);
    assert.equal(await driven.status(waiting), 'cancelled');
    assert.equal(driven.chat.requests.length, 1);
  });

  it('fails a chat completion that no connection of this process waits for, without asking the model', async () => {
    await using driven = await Driven.open();
    driven.goOn();
    const left = await driven.submit('chat_completions');
    assert.equal(await driven.drive(left), 'ended');
    assert.equal(await driven.status(left), 'failed');
    assert.equal(driven.chat.requests.length, 0);
  });

  it('fails a chat completion that its process had already claimed, whatever the clocks say', async () => {
    await using driven = await Driven.open();
    driven.goOn();
    const begun = await driven.submit('chat_completions');
    // Created by an instance whose clock is half a minute ahead, claimed by it, and left.
    driven.now -= 30_000;
    assert.ok(await driven.store.claim(begun.id, { leaseMs: 1, force: true }));
    assert.equal(await driven.drive(begun), 'ended');
    assert.equal(await driven.status(begun), 'failed');
    assert.equal(driven.chat.requests.length, 0);
  });

  it('refuses a chat completion once it hands over its runs, before anything of it is stored', async () => {
    await using driven = await Driven.open();
    await driven.active.handOver({ graceMs: 10 });
    await assert.rejects(driven.submit('chat_completions'), { code: 'shutting_down' });
    assert.deepEqual(await driven.store.countOpen(), { queued: 0, inProgress: 0 });
  });

  it('remembers cancels of runs that it does not drive up to a limit, and forgets the oldest', async () => {
    await using driven = await Driven.open();
    driven.goOn();
    const [first, second] = [await driven.submit(), await driven.submit()];
    driven.active.cancel(first.id);
    driven.active.cancel(second.id);
    for (let n = 0; n < MAX_CANCELS - 1; n++) driven.active.cancel(newRunId());
    await Promise.all([driven.drive(first), driven.drive(second)]);
    assert.equal(await driven.status(first), 'completed');
    assert.equal(await driven.status(second), 'cancelled');
  });

  it('fails a chat completion that a stop cuts off, as nobody else may pay for it', async () => {
    await using driven = await Driven.open();
    driven.active.serves = true;
    const run = await driven.submit('chat_completions');
    await driven.asked(1);
    await driven.active.handOver({ graceMs: 10 });
    assert.equal(await driven.status(run), 'failed');
    const last = await driven.store.readLast(run.id);
    assert.match(Buffer.from(last?.frames ?? []).toString(), /"code":"shutting_down"/);
  });

  it('hands runs over at their next step when it stops, and those claimed meanwhile too', async () => {
    await using driven = await Driven.open();
    const [before, meanwhile] = [await driven.submit(), await driven.submit()];
    const ends = [driven.drive(before)];
    await driven.asked(1);
    const handedOver = driven.active.handOver({ graceMs: 60_000 });
    ends.push(driven.drive(meanwhile));
    driven.goOn();
    await handedOver;
    assert.deepEqual(await Promise.all(ends), ['released', 'released']);
    for (const run of [before, meanwhile]) {
      assert.equal(await driven.status(run), 'in_progress');
      assert.ok(await driven.store.claim(run.id, { leaseMs: 1000, force: false }), 'it is free');
    }
  });
});
