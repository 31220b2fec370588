import { Registry } from 'prom-client';
import { createApps } from '../../src/http/app.ts';
import type { HttpParts } from '../../src/http/app-deps.ts';

/** The routes of the app, such as `GET /v1/responses/:id`, read off Express's own stack. */
export function routesOf(parts: HttpParts): string[] {
  const app = createApps({ ...parts, registry: new Registry() }).create({ operator: true });
  return app.router.stack.flatMap(({ route }) => {
    if (!route) return [];
    const methods = route.stack.flatMap(({ method }) => method?.toUpperCase() ?? []);
    // `app.all` is there for every method that Node knows.
    return (methods.length > 10 ? ['ALL'] : methods).map((method) => `${method} ${route.path}`);
  });
}
