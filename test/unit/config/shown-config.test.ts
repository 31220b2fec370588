import assert from 'node:assert/strict';
import { z } from 'zod';
import { isObject, type JsonValue } from '../../../src/base/json.ts';
import { maskedConfig } from '../../../src/config/masked-config.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { secretsIn } from '../../../src/config/secrets.ts';

const canary = (place: string) => `canary-${place}-0123456789-0123456789-0123456789`;

describe('maskedConfig', () => {
  const config = configSchema.parse({
    server: { port: 0 },
    store: { url: 'redis://user:canary-store@redis.example:6379/2', encryption_keys: [canary('sealing')] },
    providers: {
      // Named like settings whose texts are shown.
      kind: {
        base_url: 'https://api.example/v1?key=canary-query',
        api_key: canary('api'),
        headers: { user: canary('h') },
      },
      ran: { base_url: 'https://two.example/canary-path/v1', api_key: { command: ['get', canary('command')] } },
    },
    models: {
      deep: { kind: 'research', routes: [{ provider: 'kind', model: 'm', price: { input: 1, output: 2 } }] },
    },
    keys: [
      { id: 'ann', secret: canary('key'), provider_keys: { kind: canary('own') }, limits: { cost_per_day: 5 } },
      { id: 'bob', secret_sha256: 'ab'.repeat(32) },
    ],
    tools: {
      web_search: { provider: 'searxng', url: 'https://u.example/search?token=canary-search' },
      mcp_servers: [
        {
          name: 'a',
          url: 'https://mcp.example/canary-in-path',
          access_token: canary('mcp'),
          headers: { model: canary('m') },
        },
        { name: 'b', command: 'run', args: [canary('args')], env: { name: canary('env') } },
      ],
    },
    telemetry: { otlp_endpoint: 'https://otel.example/v1', headers: { id: canary('otel') } },
  });
  const shown = maskedConfig(config);
  const text = JSON.stringify(shown);

  it('shows no secret, in whichever field, and secretsIn finds them', () => {
    assert.doesNotMatch(text, /canary|(?:ab){32}/);
    const secrets = [...secretsIn(config)];
    for (const secret of secrets) assert.ok(!text.includes(secret), secret);
    // The log redacts them, too.
    for (const place of ['sealing', 'api', 'key', 'own', 'mcp', 'env', 'otel'])
      assert.ok(secrets.includes(canary(place)), place);
  });

  it('shows numbers, choices, names and the hosts of URLs', () => {
    const { models, providers, keys, store } = JSON.parse(text);
    assert.deepEqual(models.deep.routes, [{ provider: 'kind', model: 'm', price: { input: 1, output: 2 } }]);
    assert.equal(providers.kind.base_url, 'https://api.example/…');
    assert.equal(providers.kind.api_key, '***');
    assert.equal(keys[0].id, 'ann');
    assert.equal(keys[0].limits.cost_per_day, 5);
    assert.match(store.url, /^redis:\/\/redis\.example:6379/);
  });

  it('shows the value of every setting that is a choice', () => {
    const masked = new Set<string>();
    const visit = (schema: JsonValue | undefined, name: string): void => {
      if (Array.isArray(schema)) for (const each of schema) visit(each, name);
      if (!isObject(schema)) return;
      for (const choice of [schema.const, schema.enum].flat())
        if (typeof choice === 'string' && maskedConfig({ [name]: choice })[name] !== choice) masked.add(name);
      for (const [key, each] of Object.entries(isObject(schema.properties) ? schema.properties : {})) visit(each, key);
      visit(
        [schema.anyOf, schema.oneOf, schema.items, schema.additionalProperties].flatMap((each) => each ?? []),
        name,
      );
    };
    visit(z.json().parse(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'inline' })), '');
    assert.deepEqual([...masked], []);
  });
});
