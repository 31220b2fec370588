import assert from 'node:assert/strict';
import { LiveConfig } from '../../../src/config/live-config.ts';
import { configSchema, type GatewayConfig } from '../../../src/config/schema.ts';

describe('the configuration in force', () => {
  it('is replaced as a whole, with its keys, and its listeners are told', () => {
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

  it('stays as it was where a part cannot take the new one, and parts that took it are told', () => {
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

  it('tells nobody who no longer listens', () => {
    const live = new LiveConfig(configured('ann'));
    const listener = live.onChange(() => assert.fail('still listening'));
    listener[Symbol.dispose]();
    live.replace(configured('bob'));
  });
});

function configured(id: string): GatewayConfig {
  return configSchema.parse({ providers: {}, models: {}, keys: [{ id, secret: `secret-of-${id}` }] });
}
