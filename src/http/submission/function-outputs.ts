import { textAmong } from '../../base/text.ts';
import type { InputItem } from '../../protocol/requests/request-input.ts';
import type { FunctionOutputs, GoingOn, Shown } from '../../research/run/request.ts';
import { callsIn } from './conversation.ts';

type Answered = Omit<FunctionOutputs, 'param' | 'isStored'>;

const NOTHING: Answered = { outputs: new Map(), approvals: new Map(), called: new Set(), said: [] };

/**
 * What a thread answers functions with, and what its user says besides: of a thread that is sent again as a whole only what
 * stands behind the last output (`all`: of an input that follows a response, all of it, or what stands behind the calls
 * that it repeats). A whole thread whose assistant spoke since answers none: the research has ended.
 */
export function functionOutputs(items: readonly InputItem[], { all }: { all: boolean }): Answered {
  const outputs = new Map<string, Shown>();
  let repeated: string | undefined;
  const approvals = new Map<string, boolean>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    if (outputs.has(item.callId)) repeated ??= item.callId;
    outputs.set(item.callId, { text: item.output, images: item.images });
    if (item.approves !== undefined) approvals.set(item.callId, item.approves);
  }
  const last = items.findLastIndex((item) => item.type === 'prior_output');
  const again = items.findLastIndex((item) => callsIn(item).some(({ callId }) => outputs.has(callId ?? '')));
  const rest = items.slice((all ? again : last) + 1);
  if (!all && rest.some((item) => item.type === 'message' && item.role === 'assistant')) return NOTHING;
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

/** Calls that the client has approved, and that are made next. */
export function approvedCalls(goingOn: GoingOn | undefined): { name: string }[] {
  return (goingOn?.goesOn?.approved ?? []).flatMap(({ name }) => (name === undefined ? [] : [{ name }]));
}
