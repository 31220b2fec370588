import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type ItemPrefix, itemId } from '../../base/ids.ts';
import { type JsonObject, parseJson, scalarText } from '../../base/json.ts';
import type { CredentialCipher } from '../../base/secrets/encrypt.ts';
import type { Profile } from '../../config/schema.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { type RequestedWebhook, requestedWebhook } from '../../protocol/requests/requested-webhook.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import type { ResearchRequest } from '../../research/run/request.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { type RequestedMcpServer, requestedMcpServer } from '../../tools/mcp/mcp-server.ts';
import type { Submission } from '../submission.ts';
import {
  type RunRequest,
  type RunReservation,
  requestVersion,
  type StoredRequest,
  storedRequestSchema,
} from './request-schema.ts';
import { DATA_VERSION, NewerDataError, parseStored } from './stored-data.ts';

/** The stored form of a submission's request. `cipher` encrypts credentials. */
export function storedRequest(
  submission: Submission,
  { cipher, held, notifies }: { cipher: CredentialCipher; held: RunReservation; notifies: boolean },
): StoredRequest {
  const { request, input, trace, tag, conversation, keepMs, generate, webhook } = submission;
  const limits = Object.keys(held).length > 0 ? { held } : {};
  const joined = conversation && { conversation: conversation.id };
  const keep = { ...(keepMs !== undefined && { keepMs }), ...(generate === false && { generate }) };
  const servers = request.kind === 'proxy' ? [] : request.mcpServers;
  const isNew = keepMs !== undefined || generate === false;
  const hasCredentials = servers.length > 0 || (notifies && webhook !== undefined);
  const v = hasCredentials && cipher.isMixed ? DATA_VERSION : Math.max(isNew ? 2 : 1, versionFor(request));
  const notified = notifies && { webhook: webhook ? cipher.encrypt(JSON.stringify(webhook)) : '' };
  const common = { v, input, ...limits, ...(trace && { trace }), ...(tag && { tag }), ...keep, ...joined, ...notified };
  if (request.kind === 'proxy' || servers.length === 0) return { ...common, request };
  const mcpServers = cipher.encrypt(JSON.stringify(servers));
  return { ...common, request: { ...request, mcpServers: [] }, mcpServers };
}

/** Whether its messages hold files or audio: before version 3 they could hold only text and images. */
function hasFiles({ messages }: PlainRequest): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'file' || type === 'input_audio'),
  );
}

/** The data version that a gateway must know to drive this request. Version 1 ignored what is named here for 2. */
function versionFor(request: RunRequest): number {
  if (request.kind === 'plain')
    return request.tools.some(({ grammar }) => grammar) || hasFiles(request) ? DATA_VERSION : 2;
  if (request.kind === 'research' && request.goesOn?.after !== undefined) return DATA_VERSION;
  if (request.kind !== 'research') return 1;
  const { plan, clarify, charts } = request;
  const isNew =
    plan === 'propose' ||
    clarify ||
    charts ||
    request.tools?.fileSearch ||
    SINCE_2.some((field) => request[field] !== undefined);
  return isNew ? 2 : 1;
}

const SINCE_2 = ['sources', 'report', 'verify', 'lanes', 'attempts', 'functions', 'approvals', 'goesOn'] as const;

/** What the run has reserved of its key's limits. */
export function readHeld(run: RunRecord): RunReservation {
  return readRequest(run).held ?? {};
}

/** Whether webhook receivers are notified of the run's end. */
export function notifiesWebhooks(run: RunRecord): boolean {
  return readRequest(run).webhook !== undefined;
}

/**
 * The webhook receiver that the request named, if any.
 * @throws Error if the API key that encrypted it is gone or has changed.
 */
export function readWebhook(run: RunRecord, cipher: CredentialCipher | undefined): RequestedWebhook | undefined {
  const { webhook = '' } = readRequest(run);
  if (webhook === '') return undefined;
  if (!cipher) throw new Error(`the key ${run.keyId} that encrypted the run's webhook is gone`);
  return parseStored(requestedWebhook, cipher.decrypt(webhook), 'webhook');
}

/** The input items as submitted, with the ids by which later requests can refer to them. */
export function readInput(run: RunRecord): JsonObject[] {
  return readRequest(run).input.map((item, index) => {
    const prefix = INPUT_PREFIX[scalarText(item.type)] ?? (typeof item.id === 'string' ? undefined : 'tc');
    return prefix ? { ...item, id: itemId(prefix, run.id, { input: index }) } : item;
  });
}

/** Items of these types get an id. Others keep the id that they came with, and get one only if they have none. */
const INPUT_PREFIX: Readonly<Partial<Record<string, ItemPrefix>>> = {
  message: 'msg',
  tool_call: 'tc',
  reasoning: 'rs',
};

/** The request of a run of a plain model's response; undefined for any other run. */
export function readPlainRequest(run: RunRecord): PlainRequest | undefined {
  const { request } = readRequest(run);
  return request.kind === 'plain' ? request : undefined;
}

/** Which loop drives the run; `proxy` if none does. */
export function loopOf(run: RunRecord): RunRequest['kind'] {
  return readRequest(run).request.kind;
}

/** Whose item types and events the run's log uses; the gateway's own if undefined. */
export function storedProfile(run: RunRecord): Profile | undefined {
  const { request } = readRequest(run);
  if (request.kind === 'plain') return 'openai';
  return request.kind === 'research' ? request.profile : undefined;
}

/** A research request without its MCP servers; undefined for any other run. */
export function readResearchRequest(run: RunRecord): ResearchRequest | undefined {
  const { request } = readRequest(run);
  return request.kind === 'research' ? request : undefined;
}

/** The settings made by items of the run's conversation, for the responses that follow it. */
export function readSettings(run: RunRecord): ThreadSettings | undefined {
  const { request } = readRequest(run);
  return request.kind === 'proxy' ? undefined : request.settings;
}

/**
 * The MCP servers that a request attached.
 * @throws Error if the API key that encrypted their credentials is gone or has changed.
 */
export function readMcpServers(run: RunRecord, cipher: CredentialCipher | undefined): RequestedMcpServer[] {
  const { mcpServers } = readRequest(run);
  if (mcpServers === undefined) return [];
  if (!cipher) throw new Error(`the key ${run.keyId} that encrypted the run's MCP credentials is gone`);
  return parseStored(z.array(requestedMcpServer), cipher.decrypt(mcpServers), 'list of MCP servers');
}

/** Parsed requests, for as long as their records are in use: a run reads its own several times. */
const known = new WeakMap<RunRecord, StoredRequest>();
/** The latest parsed requests by run: whoever continues a run loads its record anew. */
const recent = new LRUCache<RunRecord['id'], { text: string; request: StoredRequest }>({
  maxSize: 16 * 1024 ** 2,
  maxEntrySize: 1024 ** 2,
  sizeCalculation: ({ text }) => 1000 + text.length,
});

/**
 * The request that a record holds.
 * @throws NewerDataError if a newer gateway wrote it.
 * @throws GatewayError `internal_error` if it cannot be read.
 */
export function readRequest(run: RunRecord): StoredRequest {
  const cached = known.get(run);
  if (cached) return cached;
  const latest = recent.get(run.id);
  const request = latest?.text === run.request ? latest.request : parse(run);
  rememberRequest(run, request);
  return request;
}

/** Caches the parsed request of a record. */
export function rememberRequest(run: RunRecord, request: StoredRequest): void {
  known.set(run, request);
  recent.set(run.id, { text: run.request, request });
}

function parse(run: RunRecord): StoredRequest {
  const stored = parseJson(run.request);
  const { v } = parseStored(requestVersion, stored, 'request');
  if (v > DATA_VERSION) throw new NewerDataError(`the request is of version ${v}; this gateway knows ${DATA_VERSION}`);
  return parseStored(storedRequestSchema, stored, 'request');
}
