import assert from 'node:assert/strict';
import { runStorm, type StormOptions } from '../chaos/storm.ts';
import { redisOrSkip } from '../support/redis.ts';
import { patience } from '../support/time-limit.ts';

/** Short storms, with one client of each kind (sixteen); `npm run chaos` makes long ones. */
const SHORT = { runs: 16, concurrent: 16, calmMs: 1000, pace: 60, cancelEvery: 12, limitMs: 100_000 } as const;

async function storm(options: Pick<StormOptions, 'backend' | 'instances' | 'disruptions'>) {
  const report = await runStorm({ ...SHORT, ...options });
  const numbers = Object.entries(report.numbers).map(([what, number]) => `${what}: ${number}`);
  console.log(`      ${numbers.join(', ')}`);
  assert.deepEqual(report.faults, []);
  return report.numbers;
}

describe('chaos', function () {
  // Instances are killed and frozen, and come back.
  this.timeout(patience(120));
  it('breaks no promise when three instances and their Redis are killed and frozen under load', async function () {
    await using redis = await redisOrSkip(this);
    await redis.kill();
    const disruptions = ['kill', 'redis', 'freeze'] as const;
    const numbers = await storm({ backend: 'redis', instances: 3, disruptions });
    assert.ok((numbers['instances killed'] ?? 0) > 0 && (numbers['Redis killed'] ?? 0) > 0);
  });

  it('breaks no promise when one instance over SQLite is killed and frozen under load', async () => {
    const disruptions = ['kill', 'freeze'] as const;
    const numbers = await storm({ backend: 'sqlite', instances: 1, disruptions });
    assert.ok((numbers['instances killed'] ?? 0) > 0);
  });
});
