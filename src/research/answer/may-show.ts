import type { ResearchRun } from '../run/run.ts';
import { hostsIn, type MayShow, mayShowFor } from './safe-markup.ts';

/** Allows links to the hosts of a run's sources and to those that the client named. The latter are only searched on demand. */
export function mayShowOf(run: ResearchRun): MayShow {
  let named: Set<string> | undefined;
  const has = (host: string) => {
    named ??= hostsOfClient(run);
    return named.has(host);
  };
  return mayShowFor(run.state.sources, { has });
}

/** The hosts in the client's messages and instructions, and those of earlier sources. */
function hostsOfClient({ request, model }: ResearchRun): Set<string> {
  const { conversation, history, earlierSources, instructions } = request;
  // A model may have been tricked into naming a host, so its earlier answers do not count.
  const messages = [...history, ...conversation]
    .filter(({ role }) => role !== 'assistant')
    .flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')));
  const texts = [
    ...messages,
    instructions ?? '',
    model.research.instructions ?? '',
    ...earlierSources.map(({ url }) => url),
  ];
  return new Set(texts.flatMap(hostsIn));
}
