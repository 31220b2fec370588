import type { ResearchRun } from '../run/run.ts';
import { hostsIn, type MayShow, mayShowFor } from './safe-markup.ts';

/** Where what a run shows may lead: the hosts of its sources and those that its client named, which are read when needed. */
export function mayShowOf(run: ResearchRun): MayShow {
  let named: Set<string> | undefined;
  const has = (host: string) => {
    named ??= hostsOfClient(run);
    return named.has(host);
  };
  return mayShowFor(run.state.sources, { has });
}

/** The hosts that the client itself wrote of, and those of what it brought along. */
function hostsOfClient({ request, model }: ResearchRun): Set<string> {
  const { conversation, history, earlierSources, instructions } = request;
  // What a model answered earlier is no word of the client.
  const said = [...history, ...conversation]
    .filter(({ role }) => role !== 'assistant')
    .flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')));
  const texts = [
    ...said,
    instructions ?? '',
    model.research.instructions ?? '',
    ...earlierSources.map(({ url }) => url),
  ];
  return new Set(texts.flatMap(hostsIn));
}
