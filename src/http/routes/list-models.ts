import { GatewayError } from '../../base/errors.ts';
import type { ModelConfig } from '../../config/schema.ts';
import type { ModelObject } from '../../protocol/models.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { findModel, mayUseModel } from '../models.ts';

/** `GET /v1/models` (docs/api.md, "Models and the rest"): the models that the key may use. */
export async function listModels(_deps: AppDeps, { identity: { config, key } }: Call): Promise<Answer> {
  const models = Object.entries(config.models).filter(([name]) => mayUseModel(key, name));
  return json({ object: 'list', data: models.map(([name, model]) => modelObject(name, model)) });
}

/** `GET /v1/models/:id`. A name may contain slashes. */
export async function getModel(_deps: AppDeps, call: Call): Promise<Answer> {
  const found = namedModel(call);
  if (!found)
    throw new GatewayError('model_not_found', 'There is no such model that this key may use.', { param: 'model' });
  return json(modelObject(found.name, found.model));
}

/** The model that a path names, if the key may use it. */
export function namedModel({ req, identity: { config, key } }: Call): { name: string; model: ModelConfig } | undefined {
  const name = [req.params.id ?? ''].flat().join('/');
  const model = findModel(config, key, name);
  return model && { name, model };
}

function modelObject(id: string, model: ModelConfig): ModelObject {
  return {
    id,
    object: 'model',
    created: model.created,
    owned_by: model.owned_by,
    context_length: model.context_length,
    max_completion_tokens: model.max_completion_tokens,
    supported_apis: [...model.apis],
  };
}
