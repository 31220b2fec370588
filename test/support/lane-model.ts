import type { TurnRequest } from '../../src/upstream/turn.ts';
import { lookups } from './research-run.ts';
import { isAnswerTurn, type ScriptedTurn } from './scripted-model.ts';
import { mayCallTools, type ProviderRequest, type Script, turn } from './scripted-provider.ts';

/** A model that plans some parts and looks each of them up, in one context or in lanes. */

/** The parts of the lane that a request belongs to; undefined outside lanes. */
export function partsOf({ messages }: Pick<TurnRequest, 'messages'>): string[] | undefined {
  const ask = messages.find(
    ({ role, content }) => role === 'user' && String(content).startsWith('Several researchers'),
  );
  return ask && [...String(ask.content).matchAll(/^- (.+)$/gm)].map(([, part]) => String(part));
}

/** The number of the attempt that a request belongs to; undefined outside attempts. */
export function attemptOf({ messages }: Pick<TurnRequest, 'messages'>): number | undefined {
  const ask = messages.find(({ role, content }) => role === 'user' && /this is attempt \d/.test(String(content)));
  return ask && Number(/this is attempt (\d)/.exec(String(ask.content))?.[1]);
}

/** How many turns of the model are in the context of a request. */
export function turnsIn({ messages }: Pick<TurnRequest, 'messages'>): number {
  return messages.filter(({ role }) => role === 'assistant').length;
}

export const planOf = (parts: readonly string[]) => ({
  name: 'update_plan',
  arguments: { items: parts.map((text) => ({ text, status: 'open' })) },
});

/** A model that looks each of its parts up `times` times, one call a turn, and then reports that it is done. */
export function laneModel(parts: readonly string[], { times = 2 }: { times?: number } = {}) {
  return (request: TurnRequest): ScriptedTurn => {
    const own = partsOf(request);
    const n = turnsIn(request) - (own ? 0 : 1);
    if (isAnswerTurn(request)) return { text: ['All of it is known.'] };
    if (JSON.stringify(request.messages).includes('were researched at the same time')) return { text: ['I am ready.'] };
    if (!own && n < 0) return { calls: [planOf(parts)] };
    const part = (own ?? parts)[Math.floor(n / times)];
    return part === undefined
      ? { text: ['I am ready.'] }
      : { reasoning: [`I look up ${part}.`], calls: lookups(`${part}-${n % times}`) };
  };
}

/** The same model as a provider over HTTP: it searches each part once, and then answers. */
export function laneProvider(parts: readonly string[]) {
  return (request: ProviderRequest): Script => {
    const messages = request.body.messages ?? [];
    if (!mayCallTools(request)) return turn({ text: 'All of it is known [1].' });
    const own = partsOf({ messages });
    const searched = turnsIn({ messages });
    const calls = own
      ? own.slice(searched, searched + 1).map((part) => ({ name: 'web_search', arguments: { queries: [part] } }))
      : /were researched at the same time/.test(JSON.stringify(messages))
        ? []
        : [planOf(parts)];
    return calls.length > 0 ? turn({ reasoning: 'I look.', toolCalls: calls }) : turn({ text: 'I am ready.' });
  };
}
