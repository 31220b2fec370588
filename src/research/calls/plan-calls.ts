import type { AssistantMessage } from '../../upstream/turn.ts';
import { findInventedResult } from '../guards/refusals.ts';
import { callKey, refuseRepeated } from '../guards/repeated-calls.ts';
import { isOwnTool } from '../run/own-tools.ts';
import type { ResearchRun } from '../run/run.ts';
import type { ForcedEnd, PlannedCall } from '../run/transcript.ts';
import { needsApproval } from './approvals.ts';
import { repairArguments } from './repair-arguments.ts';

/** No tool has a longer name. Without a limit, an invented name would be repeated in every error, item and comparison. */
const LONGEST_NAME = 256;

const ONE_AT_A_TIME =
  'Not made: the functions of the user are called one at a time. Call this one again once the other has its result.';

/** The message with tool names cut to a sane length. */
export function withShortNames(message: AssistantMessage): AssistantMessage {
  if (!message.tool_calls?.some(({ name }) => name.length > LONGEST_NAME)) return message;
  return {
    ...message,
    tool_calls: message.tool_calls.map((call) => ({ ...call, name: call.name.slice(0, LONGEST_NAME) })),
  };
}

/** Numbers the calls that will be made. The others are refused with a reason for the model, and get no item. */
export function planCalls(
  run: ResearchRun,
  wanted: readonly { id: string; name: string; arguments: string }[],
): { calls: PlannedCall[]; forced: ForcedEnd | undefined } {
  const { state, request, allowance } = run;
  const rules = { tools: request.functions ?? [], approvals: request.approvals };
  const planned: string[] = [];
  let next = state.nextCall;
  let counted = 0;
  let waits = false;
  let forced: ForcedEnd | undefined;
  const calls = wanted.map(({ id, name, arguments: written }): PlannedCall => {
    if (request.functions?.some((own) => own.name === name)) {
      if (request.oneFunctionAtOnce && waits) return { id, refused: ONE_AT_A_TIME };
      waits = true;
      return { id, call: next++, name, arguments: written, client: true };
    }
    const { arguments: args, ok } = repairArguments(written);
    const repeated = refuseRepeated({ name, arguments: args }, state, planned);
    if (repeated) return { id, ...repeated };
    const counts = !isOwnTool(name);
    if (counts) forced ??= allowance.callLimit(counted);
    if (counts && forced) return { id, refused: `Not made: ${forced.why}.` };
    planned.push(callKey({ name, arguments: args }));
    if (counts) counted++;
    if (!ok) return { id, call: next++, name, arguments: args, broken: true };
    return {
      id,
      call: next++,
      name,
      arguments: args,
      ...(needsApproval({ name, arguments: args }, rules) && { asks: true }),
    };
  });
  return { calls, forced };
}

/**
 * The message as it is sent back to the model: with arguments that parse, because providers refuse a transcript with
 * broken ones, and without tool results that the model invented. One that it repeats word for word is a quote.
 */
export function cleanMessage(
  message: AssistantMessage,
  calls: readonly PlannedCall[],
  { fence, state }: Pick<ResearchRun, 'fence' | 'state'>,
): { message: AssistantMessage; invented: boolean } {
  const isKnown = (text: string) => state.results.values().some(({ result }) => result.includes(text));
  const said = fence.unwrap(message.content, isKnown);
  const at = findInventedResult(said);
  const invented = at !== -1;
  const content = invented ? `${said.slice(0, at).trimEnd()}…` : said;
  if (!message.tool_calls) return { message: { ...message, content }, invented };
  const byId = new Map(calls.map((planned) => [planned.id, planned]));
  const tool_calls = message.tool_calls.map((call) => {
    const planned = byId.get(call.id);
    const isOurs = planned && 'call' in planned && !planned.client;
    const args = isOurs ? planned.arguments : repairArguments(call.arguments).arguments;
    return { ...call, arguments: args };
  });
  return { message: { ...message, content, tool_calls }, invented };
}
