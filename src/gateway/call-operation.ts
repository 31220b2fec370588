import { Operation, type OperationName } from '../base/telemetry/operation.ts';
import { errorType } from '../base/telemetry/spans.ts';
import type { RoutedCall } from './attempt-context.ts';
import { type FailoverOptions, type RoutedResult, withFailover } from './failover.ts';

/** APIs that are not a chat, in the words of OpenTelemetry's conventions. */
const OPERATION_OF: Readonly<Partial<Record<string, OperationName>>> = {
  embeddings: 'embeddings',
  completions: 'text_completion',
};
const CHATS = /^(?:chat_completions|responses|messages)(?:\/|$)/;

/** `withFailover` in the span of the call, `chat {model}` and the like (docs/telemetry.md). @throws as it does. */
export async function asOperation(
  { request, modelName, account }: Pick<RoutedCall, 'request' | 'modelName' | 'account'>,
  options: FailoverOptions,
): Promise<RoutedResult> {
  const name = OPERATION_OF[request.api] ?? (CHATS.test(request.api) ? 'chat' : 'generate_content');
  const operation = new Operation({ name, model: modelName });
  let result: RoutedResult | undefined;
  let error: string | undefined;
  try {
    result = await operation.span.in(() => withFailover(options));
    if ('failure' in result) error = result.failure?.kind;
    return result;
  } catch (thrown) {
    error = errorType(thrown);
    throw thrown;
  } finally {
    const route = result?.route;
    const asked = route ?? options.attempts.failures.at(-1)?.route;
    operation.end({ provider: asked?.provider.name, responseModel: route?.model, usage: () => account.used, error });
  }
}
