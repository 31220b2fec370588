import assert from 'node:assert/strict';
import { REDACTED } from '../../../src/base/logger.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { secretsIn } from '../../../src/config/secrets.ts';
import { MaskedDeltas } from '../../../src/upstream/credentials/masked-deltas.ts';
import { ProviderTarget } from '../../../src/upstream/provider-target.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';

const SITE = 'https://research.example.org/';

function configured(api_key: string, headers: Record<string, string>) {
  const config = configSchema.parse({
    providers: { one: { base_url: 'http://127.0.0.1:9/v1', api_key, headers } },
    models: { fast: { kind: 'proxy', routes: [{ provider: 'one', model: 'm' }] } },
    keys: [{ id: 'k', secret: 's' }],
  });
  const { one } = config.providers;
  assert.ok(one && 'base_url' in one);
  const pool = new ConnectionPool({ connections: 1, connectMs: 1000 });
  return { config, target: new ProviderTarget({ config: one, pool }, api_key) };
}

describe('credentials in model output', () => {
  const { target } = configured('sk-provider-credential', { authorization: 'Bearer header-credential-1' });

  it('are redacted anywhere, with or without their scheme', () => {
    assert.equal(target.mask.maskText('key sk-provider-credential!', REDACTED), 'key [redacted]!');
    assert.equal(
      target.mask.maskText('header-credential-1 and Bearer header-credential-1', REDACTED),
      '[redacted] and [redacted]',
    );
  });

  it('are redacted across deltas, also one that is cut at the end, and nothing else is held back', () => {
    const text = 'a sk-p, sk-provider-credential and sk-provider-credentia';
    for (let size = 1; size < text.length; size += 1) {
      const deltas = new MaskedDeltas(target.mask);
      const pieces = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      const shown = pieces.flatMap((delta) => deltas.push([{ type: 'text', delta }]));
      const told = [...shown, ...deltas.end()].map(({ delta }) => delta).join('');
      assert.equal(told, 'a sk-p, [redacted] and [redacted]');
    }
    const deltas = new MaskedDeltas(target.mask);
    const [thought, ...more] = deltas.push([
      { type: 'reasoning', delta: 'sk-prov' },
      { type: 'text', delta: 'ider' },
    ]);
    assert.deepEqual([thought, more], [{ type: 'reasoning', delta: 'sk-prov' }, [{ type: 'text', delta: 'ider' }]]);
  });

  it('do not include ordinary words or placeholders of keyless servers', () => {
    const keyless = configured('EMPTY', {}).target;
    assert.equal(
      keyless.mask.maskText('The list is EMPTY, said the Bearer.', REDACTED),
      'The list is EMPTY, said the Bearer.',
    );
  });
});

describe('the secrets of a provider', () => {
  const headers = { 'HTTP-Referer': SITE, 'x-title': 'Research of ours', 'x-api-key': 'header-credential-2' };
  const { config, target } = configured('sk-provider-credential', headers);

  it('are the same for research, passed answers, messages and the log', () => {
    const shown = [SITE, 'Research of ours'];
    const hidden = ['sk-provider-credential', 'header-credential-2'];
    const message = (text: string) => target.failureOfStreamError({ error: { message: text } }).message;
    for (const text of shown) {
      assert.ok(target.mask.maskText(text, REDACTED) === text, text);
      assert.ok(target.mask.maskText(text) === text, text);
      assert.ok(message(text).includes(text), text);
      assert.ok(![...secretsIn(config)].includes(text), text);
    }
    for (const text of hidden) {
      assert.ok(!target.mask.maskText(text, REDACTED).includes(text), text);
      assert.ok(!target.mask.maskText(text).includes(text), text);
      assert.ok(!message(text).includes(text), text);
      assert.ok([...secretsIn(config)].includes(text), text);
    }
  });

  it('are masked in messages that are cut between characters, not inside one', () => {
    for (const length of [298, 299, 300]) {
      const { message } = target.failureOfStreamError({ error: { message: `${'x'.repeat(length)}😀 and more` } });
      assert.ok(message.isWellFormed(), `${length}`);
    }
  });
});
