import { parseBody } from '../../protocol/requests/parse.ts';
import { countBody } from '../../protocol/requests/requests.ts';
import { settingsBehind } from '../../protocol/requests/thread-settings.ts';
import { estimateRequest, promptTokens } from '../../upstream/decoding/estimate.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forward, jsonForwarding } from '../forward.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, makesResponses } from '../models.ts';
import { ignoredHeader } from '../submission/ignored.ts';
import { requestedThread } from '../submission/thread.ts';

/**
 * `POST /v1/responses/input_tokens` (docs/api.md, "Counting and compacting"): what the client's own part of a request takes, estimated
 * without asking a provider. A model whose responses are its provider's is counted there.
 */
export async function countInputTokens(deps: AppDeps, call: Call): Promise<Answer> {
  const { identity } = call;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !makesResponses(identity, name, model)) {
    const api = 'responses/input_tokens';
    return await forward(deps, call, jsonForwarding(body, { modelName: name, model, api }));
  }
  const { runs } = deps.config.current();
  const keeping = { user: identity.caller.user, keepMs: runs.maxRunMs, field: 'input' } as const;
  await deps.attachments.keepData(body.json.input, keeping);
  const { value, ignored } = parseBody(countBody, body.json);
  const messages = await requestedThread(value, { ...deps, ...identity, name, model });
  const { instructions, text } = value;
  const additional = settingsBehind(value.input ?? [])?.tools ?? [];
  const tools = [...(value.tools ?? []), ...additional];
  const instructed = instructions ? [{ role: 'system' as const, content: instructions }] : [];
  // As the usage of a provider that counts nothing is estimated.
  const tokens =
    estimateRequest([...instructed, ...messages]) +
    promptTokens({ ...(tools.length > 0 && { tools }), ...(text != null && { text }) });
  const counted = { object: 'response.input_tokens', input_tokens: tokens, estimated: true };
  return json(counted, { headers: ignoredHeader(ignored, {}) });
}
