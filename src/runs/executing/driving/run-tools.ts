import { sleep } from '../../../base/abort.ts';
import type { Logger } from '../../../base/logger.ts';
import { contentText, counted } from '../../../base/text.ts';
import type { Warning } from '../../../protocol/warnings.ts';
import type { BuiltinTools, RequestedSources } from '../../../research/run/request.ts';
import type { ListedServer } from '../../../research/run/steps.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import { attachedDocumentsIn, fileIdIn } from '../../../tools/attached-file.ts';
import type { RequestedMcpServer } from '../../../tools/mcp/mcp-server.ts';
import type { Tool } from '../../../tools/tool.ts';
import type { OpenedTools } from '../../../tools/toolbox.ts';
import { readMcpServers, readRequest } from '../../stored/stored-request.ts';
import type { DriverParts } from './driver-parts.ts';

/** A message of a conversation, of any kind of run. */
interface ConversationMessage {
  role: string;
  content: Parameters<typeof contentText>[0];
}

/** What a run's request says about the tools that the gateway executes. */
interface ToolOptions {
  /** Names of built-in tools. */
  builtin: readonly string[];
  /** The request's options for them; undefined: as the model's configuration says. */
  requested: BuiltinTools | undefined;
  /** Where they may search and read; undefined: as `requested` says. */
  sources?: RequestedSources | undefined;
  /** The conversation so far: documents that are too long for it are searched and opened. */
  conversation: readonly ConversationMessage[];
  /** The client's own functions: no tool that runs here takes the name of one. */
  functions: readonly { name: string }[];
  /** Whether the configured MCP servers are offered too. */
  configuredMcp: boolean;
  /** Whether the MCP servers of the request are offered. */
  requestedMcp: boolean;
  signal: AbortSignal;
  log: Logger;
}

export async function openRunTools(
  parts: Pick<DriverParts, 'openTools' | 'cipherOf'>,
  run: RunRecord,
  { builtin, requested, sources, conversation, functions, configuredMcp, requestedMcp, signal, log }: ToolOptions,
): Promise<OpenedTools> {
  const mcpServers = requestedMcp ? await requestedServers(parts, run, signal) : [];
  const files = longDocuments(conversation);
  const searches = files.length > 0 || requested?.fileSearch !== undefined;
  // A request without a tool that opens pages gets one, restricted to the attached documents.
  const opensFiles = files.length > 0 && !builtin.some((name) => PAGE_TOOLS.has(name));
  const opened = await parts.openTools({
    builtin: [...builtin, ...(searches ? ['file_search'] : []), ...(opensFiles ? ['fetch_url_content'] : [])],
    ...(opensFiles ? NO_HOSTS : (sources ?? { allowedDomains: requested?.allowedDomains ?? [] })),
    country: requested?.country,
    contextSize: requested?.searchContextSize,
    fileSearch: searches ? { stores: [], ...requested?.fileSearch, files } : undefined,
    configuredMcp,
    mcpServers,
    user: run.user,
    signal,
    log,
  });
  const isFree = (tool: string) => !functions.some(({ name }) => name === tool);
  const tools = new Map(opened.tools.entries().filter(([name]) => isFree(name)));
  return { tools, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

/** How long to wait for a new API key, in milliseconds: every instance knows it within two seconds (docs/keys.md). */
const KEY_PROPAGATION_MS = 2500;
const KEY_POLL_MS = 100;

/** @throws Error if the API key that encrypted the credentials is gone; the signal's reason. */
async function requestedServers(
  { cipherOf }: Pick<DriverParts, 'cipherOf'>,
  run: RunRecord,
  signal: AbortSignal,
): Promise<RequestedMcpServer[]> {
  const isKeyUnknown = () => readRequest(run).mcpServers !== undefined && !cipherOf(run.keyId);
  for (let waited = 0; isKeyUnknown() && waited < KEY_PROPAGATION_MS; waited += KEY_POLL_MS)
    await sleep(KEY_POLL_MS, { signal });
  return readMcpServers(run, cipherOf(run.keyId));
}

const PAGE_TOOLS: ReadonlySet<string> = new Set(['web_search', 'fetch_url_content']);
/** Allows no host: `.invalid` never resolves (RFC 2606), while an empty list would allow every host. */
const NO_HOSTS = { allowedDomains: ['none.invalid'] };

/** Files that the user attached and whose text is too long for the conversation. */
function longDocuments(conversation: readonly ConversationMessage[]): string[] {
  const texts = conversation.filter(({ role }) => role === 'user').map(({ content }) => contentText(content));
  const documents = texts.flatMap(attachedDocumentsIn).filter(({ isWhole }) => !isWhole);
  return [...new Set(documents.flatMap(({ url }) => fileIdIn(url) ?? []))];
}

/** The MCP servers among the tools of a run, each with its own tools. */
export function serversOf(tools: Iterable<Tool>): ListedServer[] {
  const servers = new Map<string, ListedServer>();
  for (const { name, description, parameters, unreachable } of tools) {
    const dot = name.indexOf('.');
    if (dot === -1) continue;
    const label = name.slice(0, dot);
    const server = servers.getOrInsertComputed(label, () => ({ label, tools: [] }));
    if (unreachable) server.error = unreachable.reason;
    else server.tools.push({ name: name.slice(dot + 1), description, parameters });
  }
  return [...servers.values()];
}

/** What a client should know about the MCP servers of its run. */
export function warningsAbout(tools: ReadonlyMap<string, Tool>): Warning[] {
  return [...tools.values()].flatMap(({ unreachable, leftOut }): Warning[] => {
    if (unreachable) {
      const message = `The MCP server ${unreachable.server} could not be reached: ${unreachable.reason}`;
      return [{ code: 'mcp_server_unavailable', message }];
    }
    if (!leftOut) return [];
    const message = `Not offered: ${counted(leftOut.count, 'tool')} of the MCP server ${leftOut.server}. Choose with allowed_tools.`;
    return [{ code: 'tool_unavailable', message }];
  });
}
