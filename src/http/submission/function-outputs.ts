import { textAmong } from '../../base/text.ts';
import type { InputItem } from '../../protocol/requests/request-input.ts';
import type { FunctionOutputs, GoingOn, Shown } from '../../research/run/request.ts';
import { callsIn } from './conversation.ts';

type FunctionAnswers = Omit<FunctionOutputs, 'param' | 'isStored'>;

const NO_ANSWERS: FunctionAnswers = { outputs: new Map(), approvals: new Map(), called: new Set(), said: [] };

/**
 * The outputs of functions in a thread, and the user's messages after them. In a thread that is sent as a whole those follow
 * the last output. `all`: the input follows a response, so all of its messages count, or those after the calls that it
 * repeats. A whole thread in which the assistant has spoken since has no outputs to use, because that research has ended.
 */
export function functionOutputs(items: readonly InputItem[], { all }: { all: boolean }): FunctionAnswers {
  const outputs = new Map<string, Shown>();
  let repeated: string | undefined;
  const approvals = new Map<string, boolean>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    if (outputs.has(item.callId)) repeated ??= item.callId;
    outputs.set(item.callId, { text: item.output, images: item.images });
    if (item.approves !== undefined) approvals.set(item.callId, item.approves);
  }
  const lastOutput = items.findLastIndex((item) => item.type === 'prior_output');
  const lastCall = items.findLastIndex((item) => callsIn(item).some(({ callId }) => outputs.has(callId ?? '')));
  const rest = items.slice((all ? lastCall : lastOutput) + 1);
  if (!all && rest.some((item) => item.type === 'message' && item.role === 'assistant')) return NO_ANSWERS;
  const said = rest.flatMap((item) =>
    item.type === 'message' && item.role === 'user'
      ? [
          {
            text: textAmong(item.content),
            images: item.content.flatMap((part) => (part.type === 'image' ? [part.url] : [])),
          },
        ]
      : [],
  );
  const called = new Set(items.flatMap(callsIn).map(({ callId }) => callId));
  return {
    outputs,
    repeated,
    approvals,
    called,
    said: said.filter(({ text, images }) => text.trim() !== '' || images.length > 0),
  };
}

/** Calls that the client has approved, which are made next. */
export function approvedCalls(goingOn: GoingOn | undefined): { name: string }[] {
  return (goingOn?.goesOn?.approved ?? []).flatMap(({ name }) => (name === undefined ? [] : [{ name }]));
}
