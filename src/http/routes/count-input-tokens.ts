import { parseBody } from '../../protocol/requests/parse.ts';
import { isClientTool } from '../../protocol/requests/request-tools.ts';
import { countBody } from '../../protocol/requests/requests.ts';
import { withThreadTools } from '../../protocol/requests/thread-settings.ts';
import { responseFormat } from '../../research/run/request.ts';
import { estimateInput, promptTokens } from '../../upstream/decoding/estimate.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forwardJson } from '../forward.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, servingOf } from '../models.ts';
import { functionsIn } from '../submission/client-tools.ts';
import { ignoredHeader } from '../submission/ignored.ts';
import { readThread } from '../submission/thread.ts';

/**
 * `POST /v1/responses/input_tokens` (docs/api.md, "Counting and compacting"): estimates the tokens of the client's part of
 * a request without calling a provider: its messages, with those of the chain and the conversation, its functions and its
 * answer format. Models whose provider makes the responses count there.
 */
export async function countInputTokens(deps: AppDeps, call: Call): Promise<Answer> {
  const { identity } = call;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !servingOf(identity, name, model).makesResponses) {
    const api = 'responses/input_tokens';
    return await forwardJson(deps, call, { body, modelName: name, model, api });
  }
  const { runs } = deps.config.current();
  const keeping = { keepMs: runs.maxRunMs, context: identity.context };
  await deps.attachments.saveFiles(body.json.input, identity.caller, { ...keeping, field: 'input' });
  const { value, ignored } = parseBody(countBody, body.json);
  const { messages, settings } = await readThread(value, { ...deps, ...identity, name, model, keeping });
  await deps.attachments.discard(identity.context);
  const { instructions } = value;
  const instructionMessages = instructions ? [{ role: 'system' as const, content: instructions }] : [];
  const offered = withThreadTools(value.tools, settings) ?? [];
  const hosted = offered.filter((tool) => !isClientTool(tool));
  const format = settings?.format ?? value.text?.format;
  const isText = format === undefined || format.type === 'text';
  // The same estimate as for a provider that reports no usage.
  const tokens =
    estimateInput({
      messages: [...instructionMessages, ...messages],
      tools: functionsIn(offered, []),
      ...(!isText && { responseFormat: responseFormat(format) }),
    }) + (hosted.length > 0 ? promptTokens({ tools: hosted }) : 0);
  const counted = { object: 'response.input_tokens', input_tokens: tokens, estimated: true };
  return json(counted, { headers: ignoredHeader(ignored, {}) });
}
