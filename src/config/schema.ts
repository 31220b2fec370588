import { z } from 'zod';
import { files } from './schema/files.ts';
import { key, limits, passthroughSetting } from './schema/keys.ts';
import { type budget, type effortLevel, model, type profile } from './schema/models.ts';
import { provider, type remoteProvider, type route } from './schema/providers.ts';
import { logging, runs, server, store, telemetry } from './schema/service.ts';
import { tools } from './schema/tools.ts';
import { sectionName } from './schema/values.ts';
import { webhooks } from './schema/webhooks.ts';

/**
 * The configuration file (docs/configuration.md), validated strictly: an unknown key is an error. Durations and sizes
 * are parsed to milliseconds and bytes, and then have the unit in their name (`heartbeatMs`).
 */

export const configSchema = z.strictObject({
  server: server.prefault({}),
  store: store.prefault({}),
  runs: runs.prefault({}),
  providers: z.record(sectionName, provider),
  models: z.record(sectionName, model),
  /** A path is passed through only if both this list and a key name it. */
  passthrough: z.array(passthroughSetting).default([]),
  keys: z.array(key).min(1, 'needs at least one key: { id, secret }'),
  /** Limits that all keys of a team share. */
  teams: z.record(sectionName, z.strictObject({ limits: limits.prefault({}) })).default({}),
  tools: tools.prefault({}),
  webhooks: webhooks.prefault({}),
  files: files.prefault({}),
  /** Research as tools for other assistants, at `/mcp` (docs/mcp.md). */
  mcp: z.strictObject({ enabled: z.boolean().default(false) }).prefault({}),
  logging: logging.prefault({}),
  telemetry: telemetry.prefault({}),
});

/** The names in the file of settings whose parsed names carry a unit. */
export const NAME_IN_FILE: Readonly<Record<string, string>> = {
  bodyLimitBytes: 'body_limit',
  bodyMemoryBytes: 'body_memory',
  heartbeatMs: 'heartbeat_seconds',
  shutdownGraceMs: 'shutdown_grace_seconds',
  retentionMs: 'retention_hours',
  maxRunMs: 'max_minutes',
  maxBytes: 'max_bytes',
  perUserBytes: 'per_user_bytes',
};

/** The parsed configuration, frozen by `load.ts`. */
export type GatewayConfig = Omit<z.output<typeof configSchema>, 'keys'> & { keys: KeyConfig[] };
export type ProviderConfig = GatewayConfig['providers'][string];
/** A provider reached over HTTP. */
export type RemoteProviderConfig = z.output<typeof remoteProvider>;
export type ModelConfig = GatewayConfig['models'][string];
export type ResearchModelConfig = Extract<ModelConfig, { kind: 'research' }>;
export type ProxyModelConfig = Extract<ModelConfig, { kind: 'proxy' }>;
export type RouteConfig = z.output<typeof route>;
export type KeyConfig = z.output<typeof key> & {
  /** For a key in the store: the SHA-256 from which its cipher is derived. Rotating the secret does not change it. */
  encryptionHash?: string;
};
export type McpServerConfig = ToolsConfig['mcp_servers'][number];
export type ToolsConfig = GatewayConfig['tools'];
export type Effort = z.output<typeof effortLevel>;
export type Profile = z.output<typeof profile>;
export type BudgetConfig = z.output<typeof budget>;
