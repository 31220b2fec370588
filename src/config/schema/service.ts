import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { isProxyNetwork } from '../../base/networks.ts';
import { parseRedisUrl } from '../redis-url.ts';
import { hours, minutes, seconds, size } from '../units.ts';
import { headers, httpUrl } from './values.ts';

/** `server`, `store`, `runs`, `logging` and `telemetry`: settings of the process as a whole. */

/** The origin of a web page; parsed to what browsers send, in lower case and without the default port. */
const origin = z
  .string()
  .regex(/^(?:\*|[a-z][a-z\d+.-]*:\/\/[^/?#\s]+)$/i, 'must be an origin such as https://app.example.com, or *')
  .transform((text) => {
    const url = URL.parse(text);
    return url ? `${url.protocol}//${url.host.toLowerCase()}` : text;
  });

export const server = z
  .strictObject({
    host: z
      .string()
      .regex(/^[\w.:%-]{1,253}$/, 'must be an address such as 127.0.0.1, 0.0.0.0 or ::1, or the name of one')
      .default('127.0.0.1'),
    port: z.int().min(0).max(65_535).default(8080),
    /** A second port for /healthz, /readyz, /metrics, /openapi.json, /docs and /console. Default: the main port. */
    admin_port: z.int().min(0).max(65_535).optional(),
    /** The number of processes behind one port; `auto`: one per core. */
    workers: z.union([z.int().min(1).max(64), z.literal('auto')], 'must be a number from 1 to 64, or auto').default(1),
    body_limit: size.prefault('10mb'),
    /** The total size of request bodies in memory, of which one key may use half. */
    body_memory: size.prefault('256mb'),
    heartbeat_seconds: seconds.prefault(15),
    shutdown_grace_seconds: seconds.prefault(30),
    /** Origins of web pages that may call the gateway; `*`: all. */
    cors_origins: z.array(origin).default([]),
    /** The currency of prices, shown beside costs and never converted. */
    currency: z
      .string()
      .regex(/^[A-Za-z]{3}$/, 'must be three letters such as USD')
      .default('USD'),
    /** Addresses or networks of proxies whose X-Forwarded-For is trusted. */
    trust_proxy: z
      .array(z.string().refine(isProxyNetwork, 'must be an IP address, a network such as 10.1.2.0/24, or loopback'))
      .default([]),
  })
  .transform(
    ({
      body_limit: bodyLimitBytes,
      body_memory: bodyMemoryBytes,
      heartbeat_seconds: heartbeatMs,
      shutdown_grace_seconds: shutdownGraceMs,
      ...rest
    }) => ({
      ...rest,
      bodyLimitBytes,
      bodyMemoryBytes,
      heartbeatMs,
      shutdownGraceMs,
    }),
  );

function redisProblem(url: string): string | undefined {
  try {
    parseRedisUrl(url);
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

export const store = z
  .strictObject({
    url: z
      .string()
      .regex(
        /^(file:(?!\/\/[^/])[^\0]+|memory:|rediss?(-cluster|-sentinel)?:\/\/.+)$/,
        'must be file:<folder>, memory:, redis://host:port/db, redis-cluster://a:6379,b:6379 or redis-sentinel://s1:26379,s2:26379/name',
      )
      .superRefine((url, { addIssue }) => {
        const message = url.startsWith('redis') ? redisProblem(url) : undefined;
        if (message !== undefined) addIssue(message);
      })
      .default('file:./data'),
    retention_hours: hours.prefault(168),
    /** Keys that seal texts that clients keep: the first seals, all open. If empty, the store keeps a secret for it. */
    encryption_keys: z.array(z.string().min(32, 'must be at least 32 characters')).max(16).default([]),
    /** SQLite only. `normal`: a crash of the process loses nothing; `full`: neither does a power loss, which costs time. */
    sync: z.enum(['normal', 'full']).default('normal'),
    /** Redis only: how many replicas must acknowledge a write before clients see it. */
    replicas: z.int().nonnegative().default(0),
    /** For `rediss...`: PEM files, and the name that certificates must have if it is not that of the host. */
    tls: z
      .strictObject({
        ca_file: z.string().optional(),
        cert_file: z.string().optional(),
        key_file: z.string().optional(),
        server_name: z.string().optional(),
      })
      .transform(({ ca_file: caFile, cert_file: certFile, key_file: keyFile, server_name: serverName }) => ({
        caFile,
        certFile,
        keyFile,
        serverName,
      }))
      .optional(),
  })
  .transform(({ retention_hours: retentionMs, ...rest }) => ({ ...rest, retentionMs }));

export const runs = z
  .strictObject({
    max_concurrent: z.int().positive().default(200),
    max_queued: z.int().nonnegative().default(1000),
    /** What happens to the runs of a key that is removed. */
    keys_removed: z.enum(['keep', 'cancel']).default('keep'),
    max_minutes: minutes.prefault(60),
  })
  .transform(({ max_minutes: maxRunMs, ...rest }) => ({ ...rest, maxRunMs }));

export const logging = z.strictObject({
  level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** Where the audit log is written besides the store: a file, or `stdout`. */
  audit: z.string().min(1).optional(),
});

/** OpenTelemetry (docs/telemetry.md). */
export const telemetry = z.strictObject({
  /** The base address of an OTLP collector; absent: nothing is exported. */
  otlp_endpoint: httpUrl.optional(),
  /** Headers of every export. */
  headers: headers.default({}),
  /** The share of traces to sample, of those that begin in the gateway. */
  sample: z.number().min(0).max(1).default(1),
  /** Whether spans contain the texts of requests and answers. */
  contents: z.boolean().default(false),
});
