import type { Warning } from '../../protocol/warnings.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import type { TurnRequest } from '../turn.ts';
import type { FailedRoute } from './attempts.ts';
import type { Route } from './routes.ts';

/** What a client should know of how its turns were answered (docs/api.md, "The response object", `warnings`). */

/** Routes that were given up before this one answered. */
export function failedOver(failed: readonly FailedRoute[], answered: Route): Warning[] {
  return failed
    .filter(({ route }) => route.provider.name !== answered.provider.name || route.model !== answered.model)
    .map(({ route, failure }) => ({
      code: 'route_failed_over',
      message: `The route to ${route.provider.name} (${route.model}) was given up for another one: ${failure.kind}.`,
    }));
}

/** Parameters that the provider takes by another name, in other words or not at all. */
export function adaptedParameters(request: TurnRequest, { refusedParameters, outputLimit }: RequestTraits): Warning[] {
  const adapted: { param: string; message: string }[] = [];
  for (const [param, value] of [
    ['temperature', request.temperature],
    ['top_p', request.topP],
    ['top_logprobs', request.logprobs],
  ] as const) {
    if (value !== undefined && refusedParameters.has(param))
      adapted.push({ param, message: `The provider takes no ${param}: it was left out.` });
  }
  if (request.responseFormat !== undefined && refusedParameters.has('response_format'))
    adapted.push({
      param: 'text.format',
      message: 'The provider knows no formats: the model was asked for it in words.',
    });
  if (outputLimit !== undefined && outputLimit < (request.maxOutputTokens ?? 0))
    adapted.push({
      param: 'max_output_tokens',
      message: `The provider writes at most ${outputLimit} tokens at a time.`,
    });
  return adapted.map((each) => ({ code: 'parameter_adapted', ...each }));
}
