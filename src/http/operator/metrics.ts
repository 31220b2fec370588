import type { RequestHandler } from 'express';
import type { AppDeps } from '../app-deps.ts';

/** `GET /metrics`: Prometheus text. */
export function metricsPage({ registry, showMetrics }: AppDeps): RequestHandler {
  return async (_req, res) => {
    const text = await (showMetrics?.() ?? registry.metrics());
    res.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
}
