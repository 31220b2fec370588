import assert from 'node:assert/strict';
import { LiveConfig } from '../../../src/config/live-config.ts';
import { configSchema, type GatewayConfig } from '../../../src/config/schema.ts';

describe('LiveConfig', () => {
  it('replaces the whole configuration with its keys, and notifies listeners', () => {
    const live = new LiveConfig(configured('ann'));
    const told: GatewayConfig[] = [];
    live.onChange((config) => void told.push(config));
    const next = configured('bob');
    live.replace(next);
    assert.equal(live.current(), next);
    assert.equal(live.keyById('ann'), undefined);
    assert.equal(live.keyById('bob')?.secret, 'secret-of-bob');
    assert.deepEqual(told, [next]);
  });

  it('rolls back if a listener fails, and tells the listeners that had taken the new one', () => {
    const first = configured('ann');
    const live = new LiveConfig(first);
    const told: GatewayConfig[] = [];
    live.onChange((config) => void told.push(config));
    live.onChange(() => {
      throw new Error('a provider that does not run');
    });
    const next = configured('bob');
    assert.throws(() => live.replace(next), /does not run/);
    assert.equal(live.current(), first);
    assert.equal(live.keyById('bob'), undefined);
    assert.deepEqual(told, [next, first]);
  });

  it('does not call a disposed listener', () => {
    const live = new LiveConfig(configured('ann'));
    const listener = live.onChange(() => assert.fail('still listening'));
    listener[Symbol.dispose]();
    live.replace(configured('bob'));
  });
});

function configured(id: string): GatewayConfig {
  return configSchema.parse({ providers: {}, models: {}, keys: [{ id, secret: `secret-of-${id}` }] });
}
