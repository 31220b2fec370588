import type { ModelConfig } from '../../config/schema.ts';
import type { CountBody } from '../../protocol/requests/requests.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import { asTurnMessage } from '../../runs/submitting/history.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import { plainThread } from './plain-request.ts';
import { settingsOf } from './research-options.ts';
import { joinedBy, researchThread } from './research-request.ts';

type ThreadContext = Pick<AppDeps, 'runs' | 'conversations' | 'sealed' | 'attachments'> &
  Pick<Identity, 'caller' | 'key'> & { name: string; model: ModelConfig };

interface RequestedThread {
  messages: TurnMessage[];
  /** What its items set for what follows, in the chain, the conversation and the input. */
  settings: ThreadSettings | undefined;
}

/**
 * What a request says to its model, whatever kind that is, with all that it names.
 * @throws GatewayError for what cannot be found or read.
 */
export async function requestedThread(
  { conversation, ...body }: Pick<CountBody, 'input' | 'previous_response_id' | 'conversation'>,
  { name, model, ...deps }: ThreadContext,
): Promise<RequestedThread> {
  const { input = [], previous_response_id } = body;
  const joined = await joinedBy({ conversation, previous_response_id }, deps.conversations, deps.caller);
  if (model.kind === 'proxy') {
    return await plainThread({ input, previous_response_id }, { ...deps, model, joined });
  }
  // First: it refuses what offers too many tools, which cost much to look at.
  const settings = await settingsOf({ input, previous_response_id }, { ...deps, joined });
  const thread = await researchThread({ input, previous_response_id }, { ...deps, name, model, joined });
  return { messages: thread.map(asTurnMessage), settings };
}
