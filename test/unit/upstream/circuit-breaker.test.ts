import assert from 'node:assert/strict';
import { CircuitBreaker } from '../../../src/upstream/routing/circuit-breaker.ts';

const POLICY = { failures: 3, openMs: 100, maxOpenMs: 300, probeMs: 50 };

function breaker() {
  let now = 1000;
  const circuit = new CircuitBreaker({ now: () => now }, POLICY);
  const pass = (ms: number) => {
    now += ms;
  };
  const attempt = (outcome: 'healthy' | 'unhealthy' | 'unknown') => {
    circuit.begin();
    circuit.end(outcome);
  };
  return { circuit, pass, attempt };
}

describe('CircuitBreaker', () => {
  it('opens after consecutive failures, but not if a success is between them', () => {
    const { circuit, attempt } = breaker();
    for (const outcome of ['unhealthy', 'unhealthy', 'healthy', 'unhealthy', 'unhealthy'] as const) attempt(outcome);
    assert.equal(circuit.allows, true);
    attempt('unhealthy');
    assert.equal(circuit.allows, false);
    assert.equal(circuit.state, 'open');
  });

  it('lets one probe through when its time is up, and closes if that succeeds', () => {
    const { circuit, pass, attempt } = breaker();
    for (let i = 0; i < 3; i += 1) attempt('unhealthy');
    pass(99);
    assert.equal(circuit.allows, false);
    pass(1);
    assert.equal(circuit.allows, true);
    circuit.begin();
    assert.equal(circuit.allows, false, 'one probe at a time');
    circuit.end('healthy');
    assert.equal(circuit.state, 'closed');
  });

  it('doubles its open time after each failed probe, up to its limit', () => {
    const { circuit, pass, attempt } = breaker();
    for (let i = 0; i < 3; i += 1) attempt('unhealthy');
    for (const wait of [100, 200, 300, 300]) {
      pass(wait - 1);
      assert.equal(circuit.allows, false, `before ${wait}`);
      pass(1);
      assert.equal(circuit.allows, true, `after ${wait}`);
      attempt('unhealthy');
    }
  });

  it('allows another probe if one never reports or has an unknown outcome', () => {
    const { circuit, pass, attempt } = breaker();
    for (let i = 0; i < 3; i += 1) attempt('unhealthy');
    pass(100);
    circuit.begin();
    pass(50);
    assert.equal(circuit.allows, true);
    attempt('unknown');
    assert.equal(circuit.allows, true);
  });
});
