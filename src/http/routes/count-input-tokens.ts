import { parseBody } from '../../protocol/requests/parse.ts';
import { isClientTool } from '../../protocol/requests/request-tools.ts';
import { countBody } from '../../protocol/requests/requests.ts';
import { withSettings } from '../../protocol/requests/thread-settings.ts';
import { responseFormat } from '../../research/run/request.ts';
import { estimateInput, promptTokens } from '../../upstream/decoding/estimate.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forward, forwardJson } from '../forward.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, gatewayMakesResponses } from '../models.ts';
import { functionsIn } from '../submission/client-tools.ts';
import { ignoredHeader } from '../submission/ignored.ts';
import { requestedThread } from '../submission/thread.ts';

/**
 * `POST /v1/responses/input_tokens` (docs/api.md, "Counting and compacting"): what the client's own part of a request
 * takes, estimated without asking a provider: what was said, and the functions and the form of the answer that hold for
 * it, in the chain and the conversation too. A model whose responses are its provider's is counted there.
 */
export async function countInputTokens(deps: AppDeps, call: Call): Promise<Answer> {
  const { identity } = call;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !gatewayMakesResponses(identity, name, model)) {
    const api = 'responses/input_tokens';
    return await forward(deps, call, forwardJson(body, { modelName: name, model, api }));
  }
  const { runs } = deps.config.current();
  const keeping = { user: identity.caller.user, keepMs: runs.maxRunMs, field: 'input' } as const;
  await deps.attachments.keepData(body.json.input, keeping);
  const { value, ignored } = parseBody(countBody, body.json);
  const { messages, settings } = await requestedThread(value, { ...deps, ...identity, name, model });
  const { instructions } = value;
  const instructed = instructions ? [{ role: 'system' as const, content: instructions }] : [];
  const offered = withSettings(value.tools, settings) ?? [];
  const hosted = offered.filter((tool) => !isClientTool(tool));
  const format = settings?.format ?? value.text?.format;
  const isText = format === undefined || format.type === 'text';
  // As the usage of a provider that counts nothing is estimated.
  const tokens =
    estimateInput({
      messages: [...instructed, ...messages],
      tools: functionsIn(offered, []),
      ...(!isText && { responseFormat: responseFormat(format) }),
    }) + (hosted.length > 0 ? promptTokens({ tools: hosted }) : 0);
  const counted = { object: 'response.input_tokens', input_tokens: tokens, estimated: true };
  return json(counted, { headers: ignoredHeader(ignored, {}) });
}
