import { sleep } from '../../../base/abort.ts';
import type { Logger } from '../../../base/logger.ts';
import { textAmong } from '../../../base/text.ts';
import type { BuiltinTools, RequestedMcpServer, RequestedSources } from '../../../research/run/request.ts';
import type { ListedServer } from '../../../research/run/steps.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import { attachedIn, fileIdIn } from '../../../tools/attached-file.ts';
import type { Tool } from '../../../tools/tool.ts';
import type { OpenedTools } from '../../../tools/toolbox.ts';
import { readMcpServers, readRequest } from '../../stored/stored-request.ts';
import type { DriverParts } from './driver-parts.ts';

/** A message of a conversation, of whatever kind of run. */
interface SaidMessage {
  role: string;
  content: Parameters<typeof textAmong>[0];
}

/** What a run's request says of the tools that run here. */
interface ToolOptions {
  /** Names of built-in tools. */
  builtin: readonly string[];
  /** How they are used; undefined: as the model's configuration says. */
  asked: BuiltinTools | undefined;
  /** Where they may search and read; undefined: as `asked` says. */
  sources?: RequestedSources | undefined;
  /** The conversation so far: documents in it that are too long are searched and opened. */
  conversation: readonly SaidMessage[];
  /** Whether the configured MCP servers are offered too. */
  configuredMcp: boolean;
  /** Whether the MCP servers of the request are. */
  requestedMcp: boolean;
  signal: AbortSignal;
  log: Logger;
}

export async function openRunTools(
  parts: Pick<DriverParts, 'openTools' | 'cipherOf'>,
  run: RunRecord,
  { builtin, asked, sources, conversation, configuredMcp, requestedMcp, signal, log }: ToolOptions,
): Promise<OpenedTools> {
  const mcpServers = requestedMcp ? await requestedServers(parts, run, signal) : [];
  const files = longDocuments(conversation);
  const searches = files.length > 0 || asked?.fileSearch !== undefined;
  // A request without tools that read pages gets one for its documents, and for nothing else.
  const opensFiles = files.length > 0 && !builtin.some((name) => PAGES.has(name));
  return await parts.openTools({
    builtin: [...builtin, ...(searches ? ['file_search'] : []), ...(opensFiles ? ['fetch_url_content'] : [])],
    ...(opensFiles ? NO_PAGES : (sources ?? { allowedDomains: asked?.allowedDomains ?? [] })),
    country: asked?.country,
    contextSize: asked?.searchContextSize,
    fileSearch: searches ? { stores: [], ...asked?.fileSearch, files } : undefined,
    configuredMcp,
    mcpServers,
    user: run.user,
    signal,
    log,
  });
}

/** A key that was just made is known to every instance within two seconds (docs/keys.md), in milliseconds. */
const KNOWN_MS = 2500;
const LOOK_MS = 100;

/** @throws Error where the API key that encrypted them is gone; the signal's reason. */
async function requestedServers(
  { cipherOf }: Pick<DriverParts, 'cipherOf'>,
  run: RunRecord,
  signal: AbortSignal,
): Promise<RequestedMcpServer[]> {
  const isNew = () => readRequest(run).mcpServers !== undefined && !cipherOf(run.keyId);
  for (let waited = 0; isNew() && waited < KNOWN_MS; waited += LOOK_MS) await sleep(LOOK_MS, { signal });
  return readMcpServers(run, cipherOf(run.keyId));
}

const PAGES: ReadonlySet<string> = new Set(['web_search', 'fetch_url_content']);
/** No host has such a name (RFC 2606); an empty list would allow all. */
const NO_PAGES = { allowedDomains: ['none.invalid'] };

/** Files that the user attached and whose text is too long for the conversation. */
function longDocuments(conversation: readonly SaidMessage[]): string[] {
  const said = conversation.filter(({ role }) => role === 'user').map(({ content }) => textAmong(content));
  const documents = said.flatMap(attachedIn).filter(({ isWhole }) => !isWhole);
  return [...new Set(documents.flatMap(({ url }) => fileIdIn(url) ?? []))];
}

/** The MCP servers among the tools of a run, each with its own tools. */
export function serversOf(tools: Iterable<Tool>): ListedServer[] {
  const servers = new Map<string, ListedServer>();
  for (const { name, description, parameters, unreachable } of tools) {
    const dot = name.indexOf('.');
    if (dot === -1) continue;
    const label = name.slice(0, dot);
    const server = servers.get(label) ?? { label, tools: [] };
    servers.set(label, server);
    if (unreachable) server.error = unreachable.reason;
    else server.tools.push({ name: name.slice(dot + 1), description, parameters });
  }
  return [...servers.values()];
}
