import { EFFORTS } from '../../../protocol/response.ts';
import type { Trait } from './trait.ts';

export interface RefusedEfforts {
  /** Values of the reasoning effort that were refused. */
  refusedEfforts: Set<string>;
}

const NAMES = new RegExp(`(?<!\\w)(?:${EFFORTS.join('|')})(?!\\w)`, 'gi');

/** Which efforts a model knows. A refusal of one value leaves the others, for the requests of other clients. */
export const reasoningEffort: Trait<RefusedEfforts> = {
  start: () => ({ refusedEfforts: new Set() }),
  learn({ text, body }, { refusedEfforts }) {
    const sent = effortIn(body);
    if (sent === undefined || refusedEfforts.has(sent) || !/effort/i.test(text)) return false;
    const named = new Set(text.match(NAMES)?.map((name) => name.toLowerCase()));
    const isValue = named.has(sent) || named.size > 1;
    for (const value of isValue ? [sent] : EFFORTS) refusedEfforts.add(value);
    return true;
  },
  shape(request, traits) {
    if (request.reasoningEffort === undefined) return request;
    const { reasoningEffort, ...rest } = request;
    const known = nearestEffort(reasoningEffort, traits);
    return known === undefined ? rest : { ...rest, reasoningEffort: known };
  },
  findings({ refusedEfforts }, before) {
    const efforts = [...refusedEfforts.difference(before.refusedEfforts)];
    return efforts.length === 0 ? [] : [`refused efforts: ${efforts.join(', ')}`];
  },
};

/** The effort that is sent for `wanted`: itself, or the first toward `medium` that was not refused, if there is one. */
export function nearestEffort(wanted: string, { refusedEfforts }: RefusedEfforts): string | undefined {
  const known: readonly string[] = EFFORTS;
  const [place, middle] = [known.indexOf(wanted), known.indexOf('medium')];
  if (place === -1) return wanted;
  const toward = place > middle ? known.slice(middle, place + 1).toReversed() : known.slice(place, middle + 1);
  return toward.find((value) => !refusedEfforts.has(value));
}

function effortIn(body: Readonly<Record<string, unknown>>): string | undefined {
  const { reasoning, output_config: output } = body;
  const sent = body.reasoning_effort ?? Object(reasoning).effort ?? Object(output).effort;
  return typeof sent === 'string' ? sent : undefined;
}
