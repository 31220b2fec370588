import type { ModelConfig } from '../../config/schema.ts';
import type { CountBody } from '../../protocol/requests/requests.ts';
import type { ThreadSettings } from '../../protocol/requests/thread-settings.ts';
import { asTurnMessage } from '../../runs/submitting/history.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import type { Keeping } from './attachments.ts';
import { readPlainThread } from './plain-request.ts';
import { readThreadSettings } from './research-options.ts';
import { joinConversation, researchThread } from './research-request.ts';

type ThreadContext = Pick<AppDeps, 'runs' | 'conversations' | 'sealed' | 'attachments'> &
  Pick<Identity, 'caller' | 'key' | 'context'> & { name: string; model: ModelConfig; keeping: Keeping };

interface RequestedThread {
  messages: TurnMessage[];
  /** What items in the chain, the conversation and the input set for the following ones. */
  settings: ThreadSettings | undefined;
}

/**
 * Reads the whole thread that a request sends to its model, with everything it refers to.
 * @throws GatewayError for what cannot be found or read.
 */
export async function readThread(
  { conversation, ...body }: Pick<CountBody, 'input' | 'previous_response_id' | 'conversation'>,
  { name, model, context: { signal }, ...deps }: ThreadContext,
): Promise<RequestedThread> {
  const { input = [], previous_response_id } = body;
  const joined = await joinConversation({ conversation, previous_response_id }, deps.conversations, deps.caller);
  if (model.kind === 'proxy') {
    return await readPlainThread({ input, previous_response_id }, { ...deps, model, joined, signal });
  }
  // Comes first because it refuses threads with too many tools, which are expensive to read.
  const settings = await readThreadSettings({ input, previous_response_id }, { ...deps, joined });
  const thread = await researchThread({ input, previous_response_id }, { ...deps, name, model, joined, signal });
  return { messages: thread.map(asTurnMessage), settings };
}
