import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { CALM } from './calm.ts';

/** A gateway with the demo model `deep`, in memory; its key is the well-known one, so that the console signs itself in. */
export function startConsoleGateway(change: { keys?: object[]; [section: string]: unknown } = {}): Promise<Gateway> {
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 1 },
    store: { url: 'memory:' },
    providers: { demo: { builtin: 'demo' } },
    models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
    tools: { web_search: { provider: 'local', folder: './docs' } },
    ...change,
    keys: change.keys ?? [{ id: 'local', secret: 'sk-local', admin: true }],
  });
  return startGateway({ config, log: silentLogger, load: CALM });
}
