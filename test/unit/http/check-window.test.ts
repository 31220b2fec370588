import assert from 'node:assert/strict';
import { checkWindow } from '../../../src/http/submission/research-request.ts';
import { httpConfig } from '../../support/http-gateway.ts';

describe('the window of a model', () => {
  const routes = [
    { provider: 'demo', model: 'small' },
    { provider: 'demo', model: 'large', context_length: 50_000 },
  ];
  const config = httpConfig({ models: { mixed: { kind: 'research', routes, context_length: 10_000 } } });
  const check = (length: number) => {
    const [key] = config.keys;
    const model = config.models.mixed;
    assert.ok(key && model);
    checkWindow([{ content: 'x'.repeat(length) }], { model, key, name: 'mixed', param: 'input' });
  };

  it('is that of its largest route: only what no route can read is refused at once', () => {
    check(8 * 50_000);
    assert.throws(() => check(8 * 50_000 + 1), { code: 'context_length_exceeded', param: 'input' });
  });
});
