import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import type { DecodedTurn } from '../decoding/decoded-turn.ts';
import { startingTraits } from '../dialects/dialects.ts';
import { askRoute } from '../routing/ask-route.ts';
import { Provider } from '../routing/provider.ts';
import { type Route, routeTo } from '../routing/routes.ts';
import type { AssistantMessage, TurnMessage, TurnPart, TurnRequest, TurnTool } from '../turn.ts';
import { newRunTraits } from '../wires/replayed.ts';
import {
  configurationText,
  learnedFinding,
  type ProbeFinding,
  type ProbeReport,
  quoted,
  reasoningFinding,
} from './probe-report.ts';
import { modelsOf } from './reach.ts';

export type { ProbeReport };

export interface ProbeOptions {
  name: string;
  config: RemoteProviderConfig;
  /** Its section of the configuration file as it is written, without secrets. */
  written: Readonly<Record<string, unknown>>;
  /** The provider's name of the model; absent: the first that it lists. */
  model?: string | undefined;
  log?: Logger;
  signal: AbortSignal;
}

const WEATHER: TurnTool = {
  name: 'get_weather',
  description: 'Tells the weather in one city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'Name of the city' } },
    required: ['city'],
  },
};

const TOOL_QUESTION: TurnMessage[] = [
  { role: 'system', content: 'Answer with the tools. Call the tool once for each city, all calls in one turn.' },
  { role: 'user', content: 'How is the weather in Paris and in Rome?' },
];

/**
 * Tests what a provider can do with a plain turn, a turn with a tool, and the turn after it. The form of its requests is
 * learned on the way, as in a run. Costs a few hundred tokens.
 * @throws Error if no model is named and none is listed.
 */
export async function probeProvider(options: ProbeOptions): Promise<ProbeReport> {
  await using provider = new Provider(options.name, options.config, { clock: systemClock });
  const listed = await listModels(provider, options.signal);
  const model = options.model ?? listed.models[0];
  if (model === undefined) throw new Error(`${options.name} lists no models (${listed.detail}): name one to probe`);
  const route = routeTo(provider, { model, credential: options.config.api_key });
  const ask = createAsk(route, options);
  const findings: ProbeFinding[] = [listedFinding(model, listed)];
  const plain = await plainTurn(ask, findings);
  const calling = plain && (await toolTurn(ask, findings));
  if (calling) await turnAfterTools(ask, calling, findings);
  const traits = provider.traits(model);
  findings.push(learnedFinding(traits, startingTraits(options.config)));
  return {
    provider: options.name,
    model,
    usable: plain !== undefined && calling !== undefined,
    findings,
    configuration: configurationText(options, model, traits),
  };
}

interface ProbedTurn {
  parts: TurnPart[];
  turn: DecodedTurn;
  message: AssistantMessage;
}

/** Requests one turn; if that fails, a finding says why. */
type Ask = (about: string, request: TurnRequest, findings: ProbeFinding[]) => Promise<ProbedTurn | undefined>;

function createAsk(route: Route, { signal, log = silentLogger }: ProbeOptions): Ask {
  return async (about, request, findings) => {
    const run = newRunTraits();
    const decoded: { turn?: DecodedTurn } = {};
    const onTurn = (turn: DecodedTurn) => {
      decoded.turn = turn;
    };
    try {
      const parts = await Array.fromAsync(askRoute(route, request, { meters: [], log, run, onTurn, signal }));
      const last = parts.at(-1);
      if (!decoded.turn || last?.type !== 'finish') return undefined;
      return { parts, turn: decoded.turn, message: last.message };
    } catch (error) {
      signal.throwIfAborted();
      findings.push({ about, result: 'no', detail: messageOf(error) });
      return undefined;
    }
  };
}

async function plainTurn(ask: Ask, findings: ProbeFinding[]): Promise<ProbedTurn | undefined> {
  const request: TurnRequest = {
    messages: [
      { role: 'system', content: 'Answer in one word.' },
      { role: 'user', content: 'What is the capital of France?' },
    ],
    maxOutputTokens: 2048,
    temperature: 0.2,
    topP: 0.95,
  };
  const probed = await ask('streamed answer', request, findings);
  if (!probed) return undefined;
  const { text, usage } = probed.turn;
  findings.push(
    { about: 'streamed answer', result: text === '' ? 'no' : 'yes', detail: quoted(text) },
    reasoningFinding(probed),
    {
      about: 'usage in streams',
      result: usage ? 'yes' : 'no',
      detail: usage ? `${usage.inputTokens} in, ${usage.outputTokens} out` : 'none reported; tokens are estimated',
    },
  );
  return probed;
}

async function toolTurn(ask: Ask, findings: ProbeFinding[]): Promise<ProbedTurn | undefined> {
  const request: TurnRequest = { messages: TOOL_QUESTION, tools: [WEATHER], maxOutputTokens: 4096 };
  const probed = await ask('tool calls', request, findings);
  if (!probed) return undefined;
  const { calls, writtenCalls, text } = probed.turn;
  if (calls.length === 0) {
    findings.push({ about: 'tool calls', result: 'no', detail: `none; it said ${quoted(text)}` });
    return undefined;
  }
  const parallel = calls.length > 1 ? 'yes' : 'no';
  findings.push(
    { about: 'tool calls', result: 'yes', detail: writtenCalls > 0 ? 'written as text' : 'native' },
    { about: 'parallel tool calls', result: parallel, detail: `${calls.length} in one turn` },
  );
  return probed;
}

async function turnAfterTools(ask: Ask, calling: ProbedTurn, findings: ProbeFinding[]): Promise<void> {
  const results = calling.turn.calls.map(
    (call): TurnMessage => ({ role: 'tool', tool_call_id: call.id, content: '{"weather": "sunny, 21 degrees"}' }),
  );
  const messages = [...TOOL_QUESTION, calling.message, ...results];
  const about = 'turn after tool results';
  const probed = await ask(about, { messages, tools: [WEATHER], maxOutputTokens: 4096 }, findings);
  if (probed) findings.push({ about, result: 'yes', detail: quoted(probed.turn.text) });
}

async function listModels(provider: Provider, signal: AbortSignal): Promise<{ models: string[]; detail: string }> {
  const target = provider.target(provider.config.api_key);
  try {
    const models = (await modelsOf(target, signal)) ?? [];
    return { models, detail: `${models.length} listed` };
  } catch (error) {
    signal.throwIfAborted();
    return { models: [], detail: target.mask.cleanMessage(messageOf(error)) };
  }
}

function listedFinding(model: string, { models, detail }: { models: string[]; detail: string }): ProbeFinding {
  const result = models.includes(model) ? 'yes' : models.length > 0 ? 'no' : 'unknown';
  return { about: 'model is listed', result, detail };
}
