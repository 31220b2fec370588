import { decrypt, encrypt } from '../base/encrypt.ts';
import { type ItemPrefix, itemId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { RequestedMcpServer, ResearchRequest } from '../research/run/request.ts';
import type { RunRecord } from '../store/run-store.ts';
import type { HeldLimits, ProxyRequest, RunRequest, Submission } from './runs.ts';

/** A request as a record holds it: with the input as submitted, and credentials of MCP servers encrypted. */

interface StoredRequest {
  input: JsonObject[];
  request: RunRequest;
  /** Encrypted `RequestedMcpServer[]`, where the request attached any. */
  mcpServers?: string;
  held?: HeldLimits;
}

/** The text to store. `key` encrypts credentials; see `base/encrypt.ts`. */
export function writeRequest(submission: Submission, { key, held }: { key: Buffer; held: HeldLimits }): string {
  const { request, input } = submission;
  const limits = held.place || held.tokens !== undefined ? { held } : {};
  if (request.kind === 'proxy' || request.mcpServers.length === 0)
    return JSON.stringify({ input, request, ...limits } satisfies StoredRequest);
  const mcpServers = encrypt(JSON.stringify(request.mcpServers), key);
  const stored: StoredRequest = { input, request: { ...request, mcpServers: [] }, mcpServers, ...limits };
  return JSON.stringify(stored);
}

/** What the run holds of its key's limits. */
export function readHeld(run: RunRecord): HeldLimits {
  return parse(run).held ?? {};
}

/** The input items as submitted, each with the id by which a later request can refer to it. */
export function readInput(run: RunRecord): JsonObject[] {
  return parse(run).input.map((item, index) => {
    const prefix = INPUT_PREFIX[String(item.type)];
    return prefix ? { ...item, id: itemId(prefix, run.id, { input: index }) } : item;
  });
}

/** A reference keeps the id that it refers to. */
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
  return JSON.parse(decrypt(mcpServers, key));
}

function parse(run: RunRecord): StoredRequest {
  return JSON.parse(run.request);
}
