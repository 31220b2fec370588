import { withTimeout } from '../../base/abort.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { counted } from '../../base/text.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import type { ProviderTarget } from '../provider-target.ts';
import { AttemptFailure } from '../routing/attempt-failure.ts';
import { Provider } from '../routing/provider.ts';

/** The longest list of models that is read, in bytes. */
const MAX_LIST = 4 * 1024 * 1024;
/** How long to wait for the list, in milliseconds. */
const LIST_MS = 15_000;

/**
 * How a provider answers a request that costs nothing. `listed`: with its models. `unlisted`: without a list, so that
 * nothing is known about the credential. `refused`: the credential is wrong. `away`: with a fault, or not at all.
 */
export interface ReachResult {
  is: 'listed' | 'unlisted' | 'refused' | 'away';
  /** How many models, or the provider's message; without credentials. */
  detail: string;
}

/** Asks a provider for the list of its models. Never throws but the signal's reason. */
export async function reachProvider(
  name: string,
  config: RemoteProviderConfig,
  { signal }: { signal: AbortSignal },
): Promise<ReachResult> {
  await using provider = new Provider(name, config, { clock: systemClock });
  const target = provider.target(config.api_key);
  try {
    const models = await modelsOf(target, signal);
    if (models === undefined) return { is: 'unlisted', detail: 'it answers with something else than a list of models' };
    return { is: 'listed', detail: counted(models.length, 'model') };
  } catch (thrown) {
    signal.throwIfAborted();
    const detail = target.mask.cleanMessage(messageOf(thrown));
    return { is: thrown instanceof AttemptFailure ? resultOf(thrown) : 'away', detail };
  }
}

function resultOf({ blames, kind, status }: AttemptFailure): ReachResult['is'] {
  if (blames === 'credential') return 'refused';
  return kind === 'rate_limit' || (status !== undefined && status < 500 && status !== 408) ? 'unlisted' : 'away';
}

/**
 * The names of the models that a provider lists; undefined where its answer is no such list.
 * @throws AttemptFailure where the request fails; TimeoutError after 15 seconds; the signal's reason.
 */
export async function modelsOf(target: ProviderTarget, signal: AbortSignal): Promise<string[] | undefined> {
  const headers = { accept: 'application/json' };
  const request = { method: 'GET', path: '/models', api: 'models', headers, body: null };
  const ask = (limited: AbortSignal) => target.text(request, { limit: MAX_LIST, signal: limited });
  const list = parseJson(await withTimeout('the list of models', LIST_MS, ask, { signal }));
  if (!isObject(list) || !Array.isArray(list.data)) return undefined;
  return list.data.flatMap((entry) => (isObject(entry) && typeof entry.id === 'string' ? [entry.id] : []));
}
