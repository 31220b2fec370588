import type { RequestHandler } from 'express';
import { sendJson } from '../answers/send-json.ts';
import type { AppDeps } from '../app-deps.ts';

/** `GET /healthz`: the process is up. */
export function healthz(): RequestHandler {
  return (_req, res) => sendJson(res, { status: 200, headers: {}, body: '{"status":"ok"}' });
}

/** `GET /readyz`: work can be done; 503 with the reasons where it cannot (contract section 8). */
export function readyz({ readiness, stopping }: AppDeps): RequestHandler {
  return async (_req, res) => {
    const { ready, reasons } = stopping.aborted
      ? { ready: false, reasons: ['the gateway is shutting down'] }
      : await readiness();
    const body = JSON.stringify(ready ? { status: 'ready' } : { status: 'unavailable', reasons });
    sendJson(res, { status: ready ? 200 : 503, headers: ready ? {} : { 'retry-after': '1' }, body });
  };
}
