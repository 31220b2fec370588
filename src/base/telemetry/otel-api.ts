import { createRequire } from 'node:module';

/**
 * OpenTelemetry's API in its CommonJS form, which prom-client loads too: a second copy as ES modules takes an eighth of the
 * start. All copies in a process share one SDK.
 */
export const otel: typeof import('@opentelemetry/api') = createRequire(import.meta.url)('@opentelemetry/api');
