import { createRequire } from 'node:module';
import { join } from 'node:path';

/** `@fastify/http-proxy` in front of the provider, nothing else. Arguments: the provider, the folder of its packages. */
const [provider, folder] = process.argv.slice(2);
const load = createRequire(join(String(folder), 'package.json'));
const app = load('fastify')();
app.register(load('@fastify/http-proxy'), { upstream: new URL(String(provider)).origin });
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(`http://127.0.0.1:${app.server.address().port}`);
process.on('SIGTERM', () => process.exit(0));
