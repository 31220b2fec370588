import type { Logger } from '../base/logger.ts';
import { hasSdk } from '../base/telemetry/spans.ts';
import type { GatewayConfig } from '../config/schema.ts';

/**
 * Starts OpenTelemetry's SDK where `telemetry.otlp_endpoint` is set, unless the application around the gateway has one:
 * then spans and metrics go there. Disposing it sends what is left, for two seconds at most.
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
  // Loaded only where it is used: two hundred modules.
  const { startSdk } = await import('./sdk.ts');
  return startSdk(endpoint, telemetry, log);
}
