import { request } from 'undici';
import { agent } from '../support/stream-client.ts';
import type { TimedOrder, TimedRequest } from '../support/timed-client.ts';

/** A client in a process of its own, which reads answers without looking into them. See `startTimedClient`. */
let watching = false;

process.on('message', (order: TimedOrder) => {
  if (order.what === 'stop') watching = false;
  else {
    const times = order.what === 'one after the other' ? inTurn(order) : watch(order);
    times.then(
      (ms) => process.send?.({ ms }),
      (thrown: unknown) => process.send?.({ failure: String(thrown) }),
    );
  }
});
process.on('disconnect', () => process.exit());

async function inTurn({ requests, count }: { requests: readonly TimedRequest[]; count: number }): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) times.push(await timed(requests[n % requests.length]));
  return times;
}

async function watch({ request: asked, everyMs }: { request: TimedRequest; everyMs: number }): Promise<number[]> {
  const times: number[] = [];
  watching = true;
  while (watching) {
    times.push(await timed(asked));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return times;
}

/** Milliseconds until the last byte. */
async function timed(asked: TimedRequest | undefined): Promise<number> {
  if (!asked) throw new Error('there is nothing to ask');
  const began = performance.now();
  const { statusCode, body } = await request(asked.url, { dispatcher: agent, headers: asked.headers });
  for await (const _ of body);
  if (statusCode !== 200) throw new Error(`${asked.url} answered ${statusCode}`);
  return performance.now() - began;
}
