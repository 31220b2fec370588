import { monotonicClock } from '../../../base/clock.ts';
import { GatewayError } from '../../../base/errors.ts';
import type { KeyConfig, ResearchModelConfig } from '../../../config/schema.ts';
import type { Warning } from '../../../protocol/warnings.ts';
import { restrictToSeenUrls } from '../../../research/calls/seen-urls.ts';
import { askUserTool } from '../../../research/plan/ask-user.ts';
import { withPlan } from '../../../research/plan/plan-tool.ts';
import { undividedAllowance } from '../../../research/run/allowance.ts';
import { budgetOf } from '../../../research/run/budget.ts';
import { CostBudget } from '../../../research/run/cost-budget.ts';
import type { ResearchRequest } from '../../../research/run/request.ts';
import type { ResearchState } from '../../../research/run/state.ts';
import { createFence } from '../../../research/text/fence.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import type { Tool } from '../../../tools/tool.ts';
import { highestPrice } from '../../../upstream/price.ts';
import type { TurnUsage } from '../../../upstream/turn.ts';
import { conversationKeyOf } from '../../stored/conversation-key.ts';
import { readResearchRequest } from '../../stored/stored-request.ts';
import type { DriverParts } from './driver-parts.ts';
import type { RunDriver } from './run-driver.ts';
import { openRunTools, serversOf, warningsAbout } from './run-tools.ts';

/** Drives research runs, with the current configuration. */
export function driveResearch(parts: DriverParts): RunDriver['research'] {
  return async function* ({ run, state, answerSoFar, live, signal, shouldPause }) {
    const request = readResearchRequest(run);
    if (!request) throw new Error('the run holds no research request');
    const { model, key } = lookUp(parts, run);
    const clock = parts.monotonicClock ?? monotonicClock;
    const workingSince = clock.now() - state.elapsedMs;
    // Imported late, so that starting the gateway does not load it.
    const { research } = await import('../../../research/loop.ts');
    const log = parts.log.child({ run: run.id });
    await using opened = await openRunTools(parts, run, {
      builtin: builtinTools(model, request),
      requested: request.tools ?? undefined,
      sources: request.sources,
      conversation: request.toolChoice === 'none' ? [] : [...request.history, ...request.conversation],
      functions: request.functions ?? [],
      configuredMcp: request.toolChoice !== 'none' && request.tools === null,
      requestedMcp: request.toolChoice !== 'none',
      signal,
      log,
    });
    for (const warning of warningsAbout(opened.tools)) state.warn(warning);
    const query = {
      modelName: run.model,
      model,
      key,
      runId: run.id,
      conversation: () => conversationKeyOf(run),
      onWarning(warning: Warning) {
        if (concerns(request, warning)) state.warn(warning);
      },
      onUsage: (usage: TurnUsage) => state.spending.observe(usage),
    };
    const chat = parts.chatModel(query);
    const routes = key?.routes[run.model] ?? model.routes;
    const readerRoutes = model.research.reader ?? routes;
    const budget = budgetOf(model, request.effort, { maxMinutes: parts.config.current().runs.maxRunMs / 60_000 });
    const maxCost = Math.min(request.maxCost ?? Number.POSITIVE_INFINITY, budget.cost ?? Number.POSITIVE_INFINITY);
    if (request.profile === 'openai') yield { type: 'mcp_servers', servers: serversOf(opened.tools.values()) };
    return yield* research({
      costBudget: new CostBudget({ max: maxCost, price: highestPrice(routes) }, state),
      readerPrice: highestPrice(readerRoutes),
      id: run.id,
      request,
      model,
      budget,
      allowance: undividedAllowance({ budget, request, state }),
      chat,
      reader: model.research.reader ? parts.chatModel({ ...query, routes: model.research.reader }) : chat,
      tools: toolsOf({ request, model, state, opened: opened.tools }),
      prompts: parts.prompts,
      schemas: parts.schemas,
      fence: createFence(request.goesOn?.from ?? run.id),
      state,
      answerSoFar,
      startedAt: run.createdAt,
      elapsedMs: () => clock.now() - workingSince,
      log,
      live,
      signal,
      shouldPause,
      onToolCall: (call) => parts.onToolCall?.(call),
    });
  };
}

/** The tools that the model is offered. */
function toolsOf(run: {
  request: ResearchRequest;
  model: ResearchModelConfig;
  state: ResearchState;
  opened: ReadonlyMap<string, Tool>;
}): ReadonlyMap<string, Tool> {
  if (run.request.toolChoice === 'none') return new Map();
  const tools = run.request.sources?.metOnly ? restrictToSeenUrls(run.opened, run) : run.opened;
  const offered = withPlan(tools, run.request);
  if (!run.request.clarify || tools.size === 0 || run.request.plan === 'propose') return offered;
  const ask = askUserTool(run.state);
  return new Map(offered).set(ask.name, ask);
}

/** Whether a warning is about something that the client requested. */
function concerns({ maxOutputTokens }: ResearchRequest, { param }: Warning): boolean {
  return param !== 'max_output_tokens' || maxOutputTokens !== null;
}

function lookUp(parts: DriverParts, run: RunRecord): { model: ResearchModelConfig; key: KeyConfig | undefined } {
  const config = parts.config.current();
  const model = config.models[run.model];
  if (model?.kind !== 'research') {
    throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
  }
  return { model, key: parts.config.keyById(run.keyId) };
}

/** The built-in tools of a run: the request may only narrow what the model's configuration offers. */
function builtinTools(model: ResearchModelConfig, request: ResearchRequest): string[] {
  if (request.toolChoice === 'none') return [];
  const { tools } = request;
  if (tools === null) return model.research.tools;
  return model.research.tools.filter((name) => tools.builtin.includes(name));
}
