import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { configSchema } from '../../../src/config/schema.ts';
import { ContinuedAnswer } from '../../../src/gateway/answers/continued-answer.ts';
import type { AttemptResult } from '../../../src/gateway/attempt-result.ts';
import { ContinuedStream } from '../../../src/gateway/streams/continued-stream.ts';
import { chatStreamKind } from '../../../src/gateway/streams/stream-kind.ts';
import { ProviderTarget } from '../../../src/upstream/provider-target.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';
import { chunk } from '../../support/provider-scripts.ts';

const MB = 1024 * 1024;

/** Feeds a stream of one word with comments, as many bytes of them as there are, and gives how it was ended, if it was. */
async function endAfter(megabytes: number): Promise<AttemptResult | undefined> {
  const { providers } = configSchema.parse({
    providers: { one: { base_url: 'http://127.0.0.1:9/v1' } },
    models: { fast: { kind: 'proxy', routes: [{ provider: 'one', model: 'm' }] } },
    keys: [{ id: 'k', secret: 's' }],
  });
  const { one: config } = providers;
  assert.ok(config && 'base_url' in config);
  await using pool = new ConnectionPool({ connections: 1, connectMs: 1000 });
  let ended: AttemptResult | undefined;
  const control = {
    pause() {},
    resume() {},
    started() {},
    finish(result: AttemptResult) {
      ended ??= result;
    },
    soon() {},
  };
  const stream = new ContinuedStream(
    {
      res: new ServerResponse(new IncomingMessage(new Socket())),
      headers: {},
      answer: new ContinuedAnswer(),
      kind: chatStreamKind('fast', () => false),
      target: new ProviderTarget({ config, pool }, undefined),
      metered: { events() {} },
      onBegin() {},
    },
    control,
  );
  stream.data(Buffer.from(`data: ${JSON.stringify(chunk({ content: 'x' }))}\n\n`));
  const comment = Buffer.from(`: ${'x'.repeat(4 * MB - 4)}\n\n`);
  for (let fed = 0; fed < megabytes && !ended; fed += 4) stream.data(comment);
  return ended;
}

describe('a stream that other routes may continue', () => {
  it('ends where it does not end by itself', async () => {
    assert.equal(await endAfter(252), undefined);
    const ended = await endAfter(256);
    assert.ok(ended?.is === 'failed');
    assert.equal(ended.failure.message, 'the answer does not end');
  });
});
