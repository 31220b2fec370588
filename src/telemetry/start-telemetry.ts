import type { Logger } from '../base/logger.ts';
import { hasSdk } from '../base/telemetry/spans.ts';
import type { GatewayConfig } from '../config/schema.ts';

/**
 * Starts the OpenTelemetry SDK if `telemetry.otlp_endpoint` is set, unless the surrounding application has one: then spans
 * and metrics go there. Disposing it exports the rest, for two seconds at most.
 */
export async function startTelemetry(
  { telemetry }: Pick<GatewayConfig, 'telemetry'>,
  log: Logger,
): Promise<AsyncDisposable | undefined> {
  const { otlp_endpoint: endpoint } = telemetry;
  if (endpoint === undefined) return undefined;
  if (hasSdk()) {
    log.info('this process has an OpenTelemetry SDK already: telemetry.otlp_endpoint is not used');
    return undefined;
  }
  // Loaded only when used: it has two hundred modules.
  const { startSdk } = await import('./sdk.ts');
  return startSdk(endpoint, telemetry, log);
}
