import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type ItemPrefix, itemId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import type { CredentialCipher } from '../../base/secrets/encrypt.ts';
import type { Profile } from '../../config/schema.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { type RequestedWebhook, requestedWebhook } from '../../protocol/requests/requested-webhook.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import type { RequestedMcpServer, ResearchRequest } from '../../research/run/request.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { HeldLimits, RunRequest, Submission } from '../runs.ts';
import { mcpServer, type StoredRequest, stored, version } from './request-schema.ts';
import { DATA_VERSION, NewerDataError, parseStored } from './stored-data.ts';

/** A request as it is stored. `cipher` encrypts credentials. */
export function storedRequest(
  submission: Submission,
  { cipher, held, tells }: { cipher: CredentialCipher; held: HeldLimits; tells: boolean },
): StoredRequest {
  const { request, input, trace, tag, conversation, keepMs, generate, webhook } = submission;
  const limits = Object.keys(held).length > 0 ? { held } : {};
  const joined = conversation && { conversation: conversation.id };
  const keep = { ...(keepMs !== undefined && { keepMs }), ...(generate === false && { generate }) };
  const servers = request.kind === 'proxy' ? [] : request.mcpServers;
  const isNew = keepMs !== undefined || generate === false;
  const hasCredentials = servers.length > 0 || (tells && webhook !== undefined);
  const v = hasCredentials && cipher.isMixed ? DATA_VERSION : Math.max(isNew ? 2 : 1, versionFor(request));
  const told = tells && { webhook: webhook ? cipher.encrypt(JSON.stringify(webhook)) : '' };
  const common = { v, input, ...limits, ...(trace && { trace }), ...(tag && { tag }), ...keep, ...joined, ...told };
  if (request.kind === 'proxy' || servers.length === 0) return { ...common, request };
  const mcpServers = cipher.encrypt(JSON.stringify(servers));
  return { ...common, request: { ...request, mcpServers: [] }, mcpServers };
}

/** Whether its model gets files or audio as they are: before 3 a message had text and images alone. */
function hasFiles({ messages }: PlainRequest): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'file' || type === 'input_audio'),
  );
}

/** What a request needs of the gateway that goes on with it: others leave it alone. Before 2, limits on sources were ignored, and so was that only a plan is asked for. */
function versionFor(request: RunRequest): number {
  if (request.kind === 'plain')
    return request.tools.some(({ grammar }) => grammar) || hasFiles(request) ? DATA_VERSION : 2;
  if (request.kind === 'research' && request.goesOn?.after !== undefined) return DATA_VERSION;
  if (request.kind !== 'research') return 1;
  const { plan, clarify, charts } = request;
  const isNew = plan === 'propose' || clarify || charts || SINCE_2.some((field) => request[field] !== undefined);
  return isNew ? 2 : 1;
}

const SINCE_2 = ['sources', 'report', 'verify', 'lanes', 'attempts', 'functions', 'approvals', 'goesOn'] as const;

/** What the run holds of its key's limits. */
export function readHeld(run: RunRecord): HeldLimits {
  return readRequest(run).held ?? {};
}

/** Whether receivers are told of its end. */
export function readTells(run: RunRecord): boolean {
  return readRequest(run).webhook !== undefined;
}

/**
 * The receiver that the request named, if it did.
 * @throws Error where the API key that encrypted it is gone or has changed.
 */
export function readWebhook(run: RunRecord, cipher: CredentialCipher | undefined): RequestedWebhook | undefined {
  const { webhook = '' } = readRequest(run);
  if (webhook === '') return undefined;
  if (!cipher) throw new Error(`the key ${run.keyId} that encrypted the run's webhook is gone`);
  return parseStored(requestedWebhook, cipher.decrypt(webhook), 'webhook');
}

/** The input items as submitted, each with the id by which a later request can refer to it. */
export function readInput(run: RunRecord): JsonObject[] {
  return readRequest(run).input.map((item, index) => {
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

/** The request of a response that the gateway makes of a plain model, or undefined on any other run. */
export function readPlainRequest(run: RunRecord): PlainRequest | undefined {
  const { request } = readRequest(run);
  return request.kind === 'plain' ? request : undefined;
}

/** Which loop drives the run, or `proxy` where none does. */
export function loopOf(run: RunRecord): RunRequest['kind'] {
  return readRequest(run).request.kind;
}

/** Whose items and events the run's log has; the service's own where undefined. */
export function storedProfile(run: RunRecord): Profile | undefined {
  const { request } = readRequest(run);
  if (request.kind === 'plain') return 'openai';
  return request.kind === 'research' ? request.profile : undefined;
}

/** A research request without its MCP servers, or undefined on any other run. */
export function readResearchRequest(run: RunRecord): ResearchRequest | undefined {
  const { request } = readRequest(run);
  return request.kind === 'research' ? request : undefined;
}

/** What items of its conversation have set, for the responses that follow it. */
export function readSettings(run: RunRecord): ThreadSettings | undefined {
  const { request } = readRequest(run);
  return request.kind === 'proxy' ? undefined : request.settings;
}

/**
 * The MCP servers that a request attached.
 * @throws Error where the API key that encrypted them is gone or has changed.
 */
export function readMcpServers(run: RunRecord, cipher: CredentialCipher | undefined): RequestedMcpServer[] {
  const { mcpServers } = readRequest(run);
  if (mcpServers === undefined) return [];
  if (!cipher) throw new Error(`the key ${run.keyId} that encrypted the run's MCP credentials is gone`);
  return parseStored(z.array(mcpServer), cipher.decrypt(mcpServers), 'list of MCP servers');
}

/** Requests that were read, for as long as their records are in use: a run asks for its own several times. */
const known = new WeakMap<RunRecord, StoredRequest>();
/** Those read last, by run: what goes on from a run reads its record anew. */
const recent = new LRUCache<RunRecord['id'], { text: string; request: StoredRequest }>({
  maxSize: 16 * 1024 ** 2,
  maxEntrySize: 1024 ** 2,
  sizeCalculation: ({ text }) => 1000 + text.length,
});

/**
 * The request that a record holds.
 * @throws NewerDataError where a newer gateway wrote it.
 * @throws GatewayError `internal_error` where it cannot be read.
 */
export function readRequest(run: RunRecord): StoredRequest {
  const read = known.get(run);
  if (read) return read;
  const before = recent.get(run.id);
  const request = before?.text === run.request ? before.request : parse(run);
  rememberRequest(run, request);
  return request;
}

/** Keeps the request of a record, so that it need not be read again. */
export function rememberRequest(run: RunRecord, request: StoredRequest): void {
  known.set(run, request);
  recent.set(run.id, { text: run.request, request });
}

function parse(run: RunRecord): StoredRequest {
  const { v } = parseStored(version, run.request, 'request');
  if (v > DATA_VERSION) throw new NewerDataError(`the request is of version ${v}; this gateway knows ${DATA_VERSION}`);
  return parseStored(stored, run.request, 'request');
}
