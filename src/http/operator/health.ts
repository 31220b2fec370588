import type { RequestHandler } from 'express';
import type { RunStore } from '../../store/run-store.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { sendJson } from '../answers/json.ts';
import type { AppDeps, Readiness } from '../app-deps.ts';

/** `GET /healthz`: the process is alive. */
export function healthz(): RequestHandler {
  return (_req, res) => sendJson(res, { status: 200, headers: {}, body: '{"status":"ok"}' });
}

/** `GET /readyz`: whether the gateway can work; 503 with the reasons if not (docs/operating.md, "Health"). */
export function readyz({ readiness, stopping }: AppDeps): RequestHandler {
  return async (_req, res) => {
    const state: Readiness = stopping.aborted
      ? { ready: false, reasons: ['the gateway is shutting down'] }
      : await readiness();
    const { ready, reasons, warnings = [] } = state;
    const extra = warnings.length === 0 ? {} : { warnings };
    const body = JSON.stringify(ready ? { status: 'ready', ...extra } : { status: 'unavailable', reasons, ...extra });
    sendJson(res, { status: ready ? 200 : 503, headers: ready ? {} : { 'retry-after': '1' }, body });
  };
}

/** `GET /metrics`: Prometheus text. */
export function metricsPage({ registry, showMetrics }: AppDeps): RequestHandler {
  return async (_req, res) => {
    const text = await (showMetrics?.() ?? registry.metrics());
    res.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
}

/** The gateway is ready if the store answers, a provider is usable, and the process is not overloaded. */
export async function readiness(parts: {
  store: Pick<RunStore, 'check'>;
  upstream: Pick<Upstream, 'states'>;
  secrets: { warnings: string[] };
  overloaded: boolean;
}): Promise<Readiness> {
  const reasons: string[] = [];
  const checked = await parts.store.check();
  if (!checked.ok) reasons.push(`store: ${checked.reason}`);
  if (!parts.upstream.states().some(({ usable }) => usable)) reasons.push('no provider is usable');
  if (parts.overloaded) reasons.push('overloaded: new work is refused or held back');
  return { ready: reasons.length === 0, reasons, warnings: parts.secrets.warnings };
}
