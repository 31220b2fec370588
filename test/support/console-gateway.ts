import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from './idle-load.ts';

/** A gateway in memory with the demo model `deep` and the well-known key, with which the console signs in by itself. */
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
  return startGateway({ config, log: silentLogger, load: IDLE_LOAD });
}
