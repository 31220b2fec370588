import { fieldError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Effort, ResearchModelConfig } from '../../config/schema.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { inputItem } from '../../protocol/requests/request-input.ts';
import type { CreateChatCompletion, CreateResponse } from '../../protocol/requests/requests.ts';
import {
  canChangeSettings,
  checkToolCount,
  settingsAfter,
  type ThreadSettings,
  toolsIn,
} from '../../protocol/requests/thread-settings.ts';
import { effort } from '../../protocol/response.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Caller } from '../../runs/submission.ts';

/** The options in `research` of a request, with the defaults of its model (docs/api.md, "`research`"), and thread settings. */

interface OptionsContext {
  model: ResearchModelConfig;
  /** The conversation that the request belongs to. */
  joined?: { items: JsonObject[] } | undefined;
}

/** A body without its tools. */
export type OptionsBody = Omit<CreateResponse, 'tools'> | Omit<CreateChatCompletion, 'tools' | 'webhook'>;

/** Whether the input, or the conversation, contains an earlier answer. */
function hasAnswer(body: OptionsBody, { joined }: OptionsContext): boolean {
  const sent = 'input' in body ? body.input : body.messages;
  const isAnswer = (item: object) => 'role' in item && item.role === 'assistant';
  return sent.some(isAnswer) || (joined?.items.some(isAnswer) ?? false);
}

/**
 * A request after an earlier answer is researched at once, because it may be the reply to a plan proposed by default. So is
 * one for a structured answer, which a proposed plan is not.
 */
function defaultPlan(body: OptionsBody, context: OptionsContext) {
  const { plan } = context.model.research;
  const follows = ('input' in body && body.previous_response_id !== undefined) || hasAnswer(body, context);
  return plan === 'propose' && (follows || isStructured(body)) ? undefined : plan;
}

export function runOptions(body: OptionsBody, context: OptionsContext) {
  const { model } = context;
  const plan = body.research?.plan ?? defaultPlan(body, context);
  if (plan === 'propose' && isStructured(body)) {
    throw fieldError('conflicting_parameters', 'research.plan', 'a proposed plan is a list, and has no other format.');
  }
  // In a thread that is sent as a whole the clarifying question may have been asked already.
  const sentAnswer = hasAnswer(body, { ...context, joined: undefined });
  const byDefault = model.research.clarify && !isStructured(body);
  const clarify = (body.research?.clarify ?? byDefault) && !sentAnswer;
  return {
    ...(plan !== undefined && { plan }),
    ...(clarify && { clarify }),
    ...parallelOptions(body, context),
    ...reportOptions(body, context),
  };
}

function isStructured(body: OptionsBody): boolean {
  const format = 'input' in body ? body.text?.format : body.response_format;
  return format !== undefined && format.type !== 'text';
}

/** How many lanes or attempts research at the same time. */
function parallelOptions({ research }: OptionsBody, { model }: OptionsContext) {
  const requested = { lanes: research?.lanes ?? 1, attempts: research?.attempts ?? 1 };
  if (requested.lanes > 1 && requested.attempts > 1) {
    throw fieldError('conflicting_parameters', 'research.attempts', 'cannot be above 1 together with research.lanes.');
  }
  // Lanes and attempts exclude each other, so a request for one overrides the model's default for the other.
  const lanes = research?.lanes ?? (requested.attempts > 1 ? 1 : model.research.lanes);
  const attempts = research?.attempts ?? (lanes > 1 ? 1 : model.research.attempts);
  return { ...(lanes > 1 && { lanes }), ...(attempts > 1 && { attempts }) };
}

/** How the answer is written. */
function reportOptions(body: OptionsBody, { model }: OptionsContext) {
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

/** The settings that items in the chain, the conversation and the input make. @throws GatewayError as `history`. */
export async function readThreadSettings(
  { input, previous_response_id: previous }: Pick<CreateResponse, 'input' | 'previous_response_id'>,
  { caller, runs, joined }: Pick<OptionsContext, 'joined'> & { caller: Caller; runs: Pick<Runs, 'settings'> },
): Promise<ThreadSettings | undefined> {
  const before = previous === undefined ? undefined : await runs.settings(caller, previous);
  const setting = (joined?.items ?? []).filter(canChangeSettings);
  checkToolCount(toolsIn(setting), 'conversation');
  const parsed = setting.map((item) => parseValue(inputItem, item));
  return settingsAfter([...parsed, ...input], before);
}

/** The effort that a thread has set; threads of earlier versions may have unknown ones. */
export function effortOf(settings: ThreadSettings | undefined): Effort | undefined {
  return effort.safeParse(settings?.effort).data;
}
