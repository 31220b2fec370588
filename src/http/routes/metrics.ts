import type { RequestHandler } from 'express';
import type { Floor } from '../parts.ts';

/** `GET /metrics`: Prometheus text. */
export function metricsPage({ registry }: Floor): RequestHandler {
  return async (_req, res) => {
    const text = await registry.metrics();
    res.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
}
