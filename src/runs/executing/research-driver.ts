import { type Clock, steadyClock } from '../../base/clock.ts';
import { type ErrorCode, GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { inTrace } from '../../base/trace-context.ts';
import type { LiveConfig } from '../../config/live-config.ts';
import type { KeyConfig, ResearchModelConfig, RouteConfig } from '../../config/schema.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { SchemaChecker } from '../../research/answer/schema/schema-job.ts';
import type { Prompts } from '../../research/prompts/load-prompts.ts';
import { budgetOf } from '../../research/run/budget.ts';
import { highestPrice, Purse } from '../../research/run/money.ts';
import type { RequestedMcpServer, ResearchRequest } from '../../research/run/request.ts';
import { noted } from '../../research/run/run.ts';
import type { ListedServer } from '../../research/run/steps.ts';
import { addWarning, hasWarning } from '../../research/run/warnings.ts';
import { createFence } from '../../research/text/fence.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ChatModel, TurnUsage } from '../../upstream/turn.ts';
import type { RunMetrics } from '../metrics.ts';
import type { AdmittedRun, EndedRun, Used } from '../runs.ts';
import { readHeld, readMcpServers, readResearchRequest, readTrace } from '../stored/stored-request.ts';
import type { RunDriver } from './run-driver.ts';

/** The tools of one run, and what they hold open. */
export interface RunTools extends AsyncDisposable {
  tools: ReadonlyMap<string, Tool>;
}

/** What the driver is made of: the parts of the floors below, given by the composition root. */
export interface DriverParts {
  config: Pick<LiveConfig, 'current' | 'keyById'>;
  prompts: Prompts;
  schemas: SchemaChecker;
  clock: Clock;
  /** For spans of time; one that nothing corrects where absent. */
  steady?: Clock;
  log: Logger;
  chatModel(options: {
    modelName: string;
    model: ResearchModelConfig;
    key: KeyConfig | undefined;
    runId: string;
    /** Other routes than the model's. */
    routes?: readonly RouteConfig[];
    /** Told of what the client of the run should know, again with every turn. */
    onWarning?: (warning: Warning) => void;
    /** Told what each turn used once it is over, however it ended. */
    onUsed?: (usage: TurnUsage) => void;
  }): ChatModel;
  openTools(options: {
    /** Names of built-in tools. */
    builtin: readonly string[];
    /** Restricts searching and reading; empty: no restriction. */
    allowedDomains: readonly string[];
    /** Where the user is, as an ISO 3166 code. */
    country?: string | undefined;
    contextSize?: 'low' | 'medium' | 'high' | undefined;
    /** Whether the configured MCP servers are offered too. */
    configuredMcp: boolean;
    mcpServers: readonly RequestedMcpServer[];
    signal: AbortSignal;
    log: Logger;
  }): Promise<RunTools>;
  proxy: RunDriver['proxy'];
  encryptionKeyOf(keyId: string): Buffer | undefined;
  metrics?: Pick<RunMetrics, 'left' | 'toolCall' | 'cost'>;
  /** Awaited before a run goes on that did not begin where it was submitted. */
  begins?(run: AdmittedRun): Promise<void>;
  /** Told what a run has used so far, before what follows from it is stored. */
  used?(run: AdmittedRun & Used): void;
  /** Told of every run that this instance ended. */
  ended?(run: EndedRun & { model: string; error: ErrorCode | undefined }): void;
}

/** Puts a research run together from its record and the current configuration. */
export function createDriver(parts: DriverParts): RunDriver {
  return {
    proxy: parts.proxy,
    async begins(run) {
      await parts.begins?.({ id: run.id, keyId: run.keyId, held: readHeld(run) });
    },
    used(run, used) {
      parts.used?.({ id: run.id, keyId: run.keyId, held: readHeld(run), ...used });
    },
    left({ run, result, ended }) {
      const { id, keyId, model } = run;
      if (ended) {
        const { tokens, cost, error } = ended;
        parts.ended?.({ id, keyId, model, held: readHeld(run), tokens, cost, error });
        if (cost > 0) parts.metrics?.cost(model, cost, parts.config.current().server.currency);
      }
      parts.metrics?.left(run, { result, status: ended?.status, now: parts.clock.now() });
    },
    async *research({ run, state, answerSoFar, live, signal, shouldPause }) {
      const request = readResearchRequest(run);
      if (!request) throw new Error('the run holds no research request');
      const { model, key } = lookUp(parts, run);
      // Kept from the first time on; a start does not load it.
      const { research } = await import('../../research/loop.ts');
      const log = parts.log.child({ run: run.id });
      const trace = readTrace(run);
      const tools = {
        builtin: builtinTools(model, request),
        allowedDomains: request.tools?.allowedDomains ?? [],
        country: request.tools?.country,
        contextSize: request.tools?.searchContextSize,
        configuredMcp: request.toolChoice !== 'none' && request.tools === null,
        mcpServers: request.toolChoice === 'none' ? [] : readMcpServers(run, parts.encryptionKeyOf(run.keyId)),
        signal,
        log,
      };
      await using opened = await inTrace(trace, () => parts.openTools(tools));
      const told = unreachableServers(opened.tools.values());
      const query = {
        modelName: run.model,
        model,
        key,
        runId: run.id,
        onWarning(warning: Warning) {
          if (concerns(request, warning)) addWarning(told, warning);
        },
        onUsed: (usage: TurnUsage) => state.saw(usage),
      };
      const chat = parts.chatModel(query);
      const routes = key?.routes[run.model] ?? model.routes;
      const readerRoutes = model.research.reader ?? routes;
      const { currency } = parts.config.current().server;
      state.useMoney({ currency, price: routes[0]?.price });
      const budget = budgetOf(model, request.effort, { maxMinutes: parts.config.current().runs.maxRunMs / 60_000 });
      const most = Math.min(request.maxCost ?? Number.POSITIVE_INFINITY, budget.cost ?? Number.POSITIVE_INFINITY);
      const steps = research({
        purse: new Purse({ most, price: highestPrice(routes) }, state),
        readerPrice: highestPrice(readerRoutes),
        id: run.id,
        request,
        model,
        budget,
        chat,
        reader: model.research.reader ? parts.chatModel({ ...query, routes: model.research.reader }) : chat,
        tools: request.toolChoice === 'none' ? new Map() : opened.tools,
        prompts: parts.prompts,
        schemas: parts.schemas,
        fence: createFence(run.id),
        state,
        answerSoFar,
        startedAt: run.createdAt,
        clock: parts.steady ?? steadyClock,
        log,
        live,
        signal,
        shouldPause,
        onToolCall: (call) => parts.metrics?.toolCall(call),
      });
      if (request.profile === 'openai') yield { type: 'mcp_servers', servers: serversOf(opened.tools.values()) };
      // In one loop with what precedes it: a generator around a generator costs each delta some microseconds.
      await using _ = { [Symbol.asyncDispose]: async () => void (await steps.return('paused')) };
      for (;;) {
        const next = await inTrace(trace, () => steps.next());
        const warnings = told.length === 0 ? told : told.filter((warning) => !hasWarning(state.warnings, warning));
        if (warnings.length > 0) yield { type: 'note', entry: noted(state, { t: 'warned', warnings }) };
        if (next.done) return next.value;
        yield next.value;
      }
    },
  };
}

/** Whether a warning is about something that the client asked for. */
function concerns({ maxOutputTokens }: ResearchRequest, { param }: Warning): boolean {
  return param !== 'max_output_tokens' || maxOutputTokens !== null;
}

/** The MCP servers among the tools of a run, each with its own tools. */
function serversOf(tools: Iterable<Tool>): ListedServer[] {
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

function unreachableServers(tools: Iterable<Tool>): Warning[] {
  return [...tools].flatMap(({ unreachable }) =>
    unreachable
      ? [
          {
            code: 'mcp_server_unavailable' as const,
            message: `The MCP server ${unreachable.server} could not be reached: ${unreachable.reason}`,
          },
        ]
      : [],
  );
}

function lookUp(parts: DriverParts, run: RunRecord): { model: ResearchModelConfig; key: KeyConfig | undefined } {
  const config = parts.config.current();
  const model = config.models[run.model];
  if (model?.kind !== 'research') {
    throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
  }
  return { model, key: parts.config.keyById(run.keyId) };
}

/** The request may only narrow what the model's configuration offers. */
function builtinTools(model: ResearchModelConfig, request: ResearchRequest): string[] {
  if (request.toolChoice === 'none') return [];
  const { tools } = request;
  if (tools === null) return model.research.tools;
  return model.research.tools.filter((name) => tools.builtin.includes(name));
}
