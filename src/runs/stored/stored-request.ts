import { z } from 'zod';
import { decrypt, encrypt } from '../../base/encrypt.ts';
import { type ItemPrefix, itemId } from '../../base/ids.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { TraceContext } from '../../base/trace-context.ts';
import { effortLevel } from '../../config/schema/models.ts';
import type { RequestedMcpServer, ResearchRequest } from '../../research/run/request.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { HeldLimits, ProxyRequest, RunRequest, Submission } from '../runs.ts';
import { DATA_VERSION, NewerDataError, parseStored } from './stored-data.ts';

/**
 * A request as a record holds it: with the input as submitted, and credentials of MCP servers encrypted. Fields that
 * came after the first version have a default or are optional.
 */
export interface StoredRequest {
  /** The first version wrote none. */
  v: number;
  input: JsonObject[];
  request: RunRequest;
  /** Encrypted `RequestedMcpServer[]`, where the request attached any. */
  mcpServers?: string;
  held?: HeldLimits;
  trace?: TraceContext;
}

const jsonObject = z.custom<JsonObject>(isObject);
const message = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('image'), url: z.string() }),
    ]),
  ),
});
const mcpServer = z.looseObject({
  name: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()).optional(),
  accessToken: z.string().optional(),
  allowedTools: z.array(z.string()).optional(),
  oauth: z
    .looseObject({
      clientId: z.string(),
      clientSecret: z.string(),
      tokenUrl: z.string().optional(),
      issuer: z.string().optional(),
      scope: z.string().optional(),
    })
    .optional(),
});
const format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z
    .looseObject({
      type: z.literal('json_schema'),
      name: z.string().optional(),
      schema: jsonObject,
      strict: z.boolean().optional(),
      description: z.string().optional(),
    })
    // What is undefined is not in JSON.
    .transform(({ name, strict, description, ...rest }) => ({ ...rest, name, strict, description })),
]);

const research: z.ZodType<ResearchRequest> = z.looseObject({
  kind: z.literal('research'),
  history: z.array(message),
  earlierSources: z.array(
    z.looseObject({ url: z.string(), title: z.string(), snippet: z.string(), facts: z.string().optional() }),
  ),
  conversation: z.array(message),
  instructions: z.string().nullable(),
  effort: effortLevel,
  tools: z
    .looseObject({
      builtin: z.array(z.string()),
      allowedDomains: z.array(z.string()),
      country: z.string().optional(),
      searchContextSize: z.enum(['low', 'medium', 'high']).optional(),
    })
    .nullable(),
  toolChoice: z.enum(['auto', 'none']),
  mcpServers: z.array(mcpServer),
  maxOutputTokens: z.number().nullable(),
  maxToolCalls: z.number().nullable(),
  temperature: z.number().nullable(),
  topP: z.number().nullable(),
  maxCost: z.number().positive().optional(),
  format: format.nullable(),
});

const stored: z.ZodType<StoredRequest> = z.looseObject({
  v: z.int().positive().default(1),
  input: z.array(jsonObject),
  request: z.union([research, z.looseObject({ kind: z.literal('proxy'), body: z.string() })]),
  mcpServers: z.string().optional(),
  held: z
    .looseObject({ place: z.boolean().optional(), tokens: z.number().optional(), cost: z.number().optional() })
    .optional(),
  trace: z.looseObject({ traceparent: z.string(), tracestate: z.string().optional() }).optional(),
});
const version = z.looseObject({ v: z.int().positive().default(1) });

/** A request as it is stored. `key` encrypts credentials; see `base/encrypt.ts`. */
export function storedRequest(submission: Submission, { key, held }: { key: Buffer; held: HeldLimits }): StoredRequest {
  const { request, input, trace } = submission;
  const limits = held.place || held.tokens !== undefined || held.cost !== undefined ? { held } : {};
  const common = { v: DATA_VERSION, input, ...limits, ...(trace && { trace }) };
  if (request.kind === 'proxy' || request.mcpServers.length === 0) return { ...common, request };
  const mcpServers = encrypt(JSON.stringify(request.mcpServers), key);
  return { ...common, request: { ...request, mcpServers: [] }, mcpServers };
}

/** The request of a record that this process has just made, so that it need not be read back. */
export function rememberRequest(run: RunRecord, request: StoredRequest): void {
  known.set(run, request);
}

/** What the run holds of its key's limits. */
export function readHeld(run: RunRecord): HeldLimits {
  return parse(run).held ?? {};
}

/** The trace that the run belongs to. */
export function readTrace(run: RunRecord): TraceContext | undefined {
  return parse(run).trace;
}

/** The input items as submitted, each with the id by which a later request can refer to it. */
export function readInput(run: RunRecord): JsonObject[] {
  return parse(run).input.map((item, index) => {
    const prefix = INPUT_PREFIX[String(item.type)] ?? (typeof item.id === 'string' ? undefined : 'tc');
    return prefix ? { ...item, id: itemId(prefix, run.id, { input: index }) } : item;
  });
}

/** A reference keeps the id that it refers to, a call of another service its own; what has none gets one. */
const INPUT_PREFIX: Readonly<Partial<Record<string, ItemPrefix>>> = {
  message: 'msg',
  tool_call: 'tc',
  reasoning: 'rs',
};

/** A research request without its MCP servers, or undefined on a proxy task. */
export function readResearchRequest(run: RunRecord): ResearchRequest | undefined {
  const { request } = parse(run);
  return request.kind === 'research' ? request : undefined;
}

/** A proxy request, or undefined on a research run. */
export function readProxyRequest(run: RunRecord): ProxyRequest | undefined {
  const { request } = parse(run);
  return request.kind === 'proxy' ? request : undefined;
}

/**
 * The MCP servers that a request attached.
 * @throws Error where the API key that encrypted them is gone or has changed.
 */
export function readMcpServers(run: RunRecord, key: Buffer | undefined): RequestedMcpServer[] {
  const { mcpServers } = parse(run);
  if (mcpServers === undefined) return [];
  if (!key) throw new Error(`the key ${run.keyId} that encrypted the run's MCP credentials is gone`);
  return parseStored(z.array(mcpServer), decrypt(mcpServers, key), 'list of MCP servers');
}

/** Requests that were read, for as long as their records are in use: a run asks for its own several times. */
const known = new WeakMap<RunRecord, StoredRequest>();

/**
 * @throws NewerDataError where a newer gateway wrote it.
 * @throws GatewayError `internal_error` where it cannot be read.
 */
function parse(run: RunRecord): StoredRequest {
  const request = known.get(run) ?? readStored(run);
  known.set(run, request);
  return request;
}

function readStored(run: RunRecord): StoredRequest {
  const { v } = parseStored(version, run.request, 'request');
  if (v > DATA_VERSION) throw new NewerDataError(`the request is of version ${v}; this gateway knows ${DATA_VERSION}`);
  return parseStored(stored, run.request, 'request');
}
