import { fieldError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Effort, ResearchModelConfig } from '../../config/schema.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { inputItem } from '../../protocol/requests/request-input.ts';
import { type CreateChatCompletion, type CreateResponse, effort } from '../../protocol/requests/requests.ts';
import {
  maySet,
  requireFewTools,
  settingsBehind,
  type ThreadSettings,
  toolsIn,
} from '../../protocol/requests/thread-settings.ts';
import type { Caller, Runs } from '../../runs/runs.ts';

/** What `research` of a request asks for, with the defaults of its model (docs/api.md, "`research`"), and what its thread sets. */

interface OptionsContext {
  model: ResearchModelConfig;
  /** The conversation that the request takes part in, as it was read. */
  joined?: { items: JsonObject[] } | undefined;
}

/** A body, whatever its tools are. */
export type OptionsBody = Omit<CreateResponse, 'tools'> | Omit<CreateChatCompletion, 'tools'>;

/** Whether something was answered before in what the client sends, or in the conversation that it takes part in. */
function hasAnswer(body: OptionsBody, { joined }: OptionsContext): boolean {
  const sent = 'input' in body ? body.input : body.messages;
  const isAnswer = (item: object) => 'role' in item && item.role === 'assistant';
  return sent.some(isAnswer) || (joined?.items.some(isAnswer) ?? false);
}

/** What follows an earlier answer is researched: it may be what was said to a plan that was proposed by default. */
function defaultPlan(body: OptionsBody, context: OptionsContext) {
  const { plan } = context.model.research;
  const follows = ('input' in body && body.previous_response_id !== undefined) || hasAnswer(body, context);
  return plan === 'propose' && follows ? undefined : plan;
}

/** What of `research` says how the run works. */
export function planning(body: OptionsBody, context: OptionsContext) {
  const { model } = context;
  const plan = body.research?.plan ?? defaultPlan(body, context);
  if (plan === 'propose' && isStructured(body)) {
    throw fieldError('conflicting_parameters', 'research.plan', 'a proposed plan is a list, and has no other format.');
  }
  // Of a thread that is sent as a whole nobody knows what was researched: it is not asked twice.
  const sentAnswer = hasAnswer(body, { ...context, joined: undefined });
  const clarify = (body.research?.clarify ?? model.research.clarify) && !sentAnswer;
  return {
    ...(plan !== undefined && { plan }),
    ...(clarify && { clarify }),
    ...parallel(body, context),
    ...writing(body, context),
  };
}

function isStructured(body: OptionsBody): boolean {
  const format = 'input' in body ? body.text?.format : body.response_format;
  return format !== undefined && format.type !== 'text';
}

/** What of `research` says how many research at the same time. */
function parallel({ research }: OptionsBody, { model }: OptionsContext) {
  const asked = { lanes: research?.lanes ?? 1, attempts: research?.attempts ?? 1 };
  if (asked.lanes > 1 && asked.attempts > 1) {
    throw fieldError('conflicting_parameters', 'research.attempts', 'cannot be above 1 together with research.lanes.');
  }
  // What the request asks for takes the place of the model's other way.
  const lanes = research?.lanes ?? (asked.attempts > 1 ? 1 : model.research.lanes);
  const attempts = research?.attempts ?? (lanes > 1 ? 1 : model.research.attempts);
  return { ...(lanes > 1 && { lanes }), ...(attempts > 1 && { attempts }) };
}

/** What of `research` says how the answer is written. */
function writing(body: OptionsBody, { model }: OptionsContext) {
  const { research } = body;
  const report = research?.report ?? model.research.report;
  const verify = research?.verify ?? model.research.verify;
  const charts = (research?.charts ?? model.research.charts) && !isStructured(body);
  return {
    ...(report !== 'auto' && { report }),
    ...(verify !== 'auto' && { verify }),
    ...(charts && { charts }),
  };
}

/** What items ahead of the answer set, in the chain, the conversation and the input. @throws GatewayError as `history`. */
export async function settingsOf(
  { input, previous_response_id: previous }: Pick<CreateResponse, 'input' | 'previous_response_id'>,
  { caller, runs, joined }: Pick<OptionsContext, 'joined'> & { caller: Caller; runs: Pick<Runs, 'settings'> },
): Promise<ThreadSettings | undefined> {
  const before = previous === undefined ? undefined : await runs.settings(caller, previous);
  const setting = (joined?.items ?? []).filter(maySet);
  requireFewTools(toolsIn(setting), 'conversation');
  const said = setting.map((item) => parseValue(inputItem, item));
  return settingsBehind([...said, ...input], before);
}

/** @throws GatewayError `invalid_parameter` for an effort that research does not know. */
export function effortIn(settings: ThreadSettings | undefined): Effort | undefined {
  const read = effort.optional().safeParse(settings?.effort);
  if (read.success) return read.data;
  const what = `a configuration_update asks for an effort that is not known: ${settings?.effort}.`;
  throw fieldError('invalid_parameter', 'input', what);
}
