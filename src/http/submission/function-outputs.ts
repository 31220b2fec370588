import { contentText } from '../../base/text.ts';
import type { InputItem } from '../../protocol/requests/request-input.ts';
import type { ContinuedResearch, FunctionOutputs, TextWithImages } from '../../research/run/request.ts';
import { callsIn } from './conversation.ts';

type FunctionAnswers = Omit<FunctionOutputs, 'param' | 'isStored'>;

const NO_ANSWERS: FunctionAnswers = {
  outputs: new Map(),
  approvals: new Map(),
  repeatedCalls: new Set(),
  messages: [],
};

/**
 * The outputs of functions in a thread, and the user's messages after them. In a thread that is sent as a whole those follow
 * the last output. `all`: the input follows a response, so all of its messages count, or those after the calls that it
 * repeats. A whole thread in which the assistant has spoken since has no outputs to use, because that research has ended.
 */
export function functionOutputs(items: readonly InputItem[], { all }: { all: boolean }): FunctionAnswers {
  const outputs = new Map<string, TextWithImages>();
  let duplicate: string | undefined;
  const approvals = new Map<string, boolean>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    if (outputs.has(item.callId)) duplicate ??= item.callId;
    outputs.set(item.callId, { text: item.output, images: item.images });
    if (item.approves !== undefined) approvals.set(item.callId, item.approves);
  }
  const lastOutput = items.findLastIndex((item) => item.type === 'prior_output');
  const lastCall = items.findLastIndex((item) => callsIn(item).some(({ callId }) => outputs.has(callId ?? '')));
  const rest = items.slice((all ? lastCall : lastOutput) + 1);
  if (!all && rest.some((item) => item.type === 'message' && item.role === 'assistant')) return NO_ANSWERS;
  const messages = rest.flatMap((item) =>
    item.type === 'message' && item.role === 'user'
      ? [
          {
            text: contentText(item.content),
            images: item.content.flatMap((part) => (part.type === 'image' ? [part.url] : [])),
          },
        ]
      : [],
  );
  const repeatedCalls = new Set(items.flatMap(callsIn).map(({ callId }) => callId));
  return {
    outputs,
    duplicate,
    approvals,
    repeatedCalls,
    messages: messages.filter(({ text, images }) => text.trim() !== '' || images.length > 0),
  };
}

/** Calls that the client has approved, which are made next. */
export function approvedCalls(goingOn: ContinuedResearch | undefined): { name: string }[] {
  return (goingOn?.goesOn?.approved ?? []).flatMap(({ name }) => (name === undefined ? [] : [{ name }]));
}
