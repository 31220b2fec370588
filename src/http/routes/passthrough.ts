import { fieldError, GatewayError } from '../../base/errors.ts';
import { isOwnPath } from '../../config/schema/keys.ts';
import { boundaryOf, formFields } from '../../protocol/requests/multipart.ts';
import { isPlainPath } from '../../protocol/requests/request-target.ts';
import type { Answer } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import { type Call, methodNotAllowed } from '../endpoint.ts';
import { type ForwardRequest, findModelSpan, forward } from '../forward.ts';
import { hasBody, mediaType, notJson, readJson, requireIdentity } from '../middleware/body.ts';
import { readBody } from '../middleware/read-body.ts';
import { chooseModel, declaresApi, findModel, mayUseModel } from '../models.ts';
import { notFoundAt } from '../unknown-path.ts';
import { entryFor, passOn } from './passthrough-entries.ts';

const PROXIED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

type PassthroughBody = Omit<ForwardRequest, 'modelName' | 'model' | 'api'> & { model: unknown };

/**
 * Any other `/v1/*` call. Its path is passed through (docs/configuration.md, "passthrough"), or its body, JSON or a form,
 * names in `model` a proxy model that declares the API (docs/api.md, "Models and the rest").
 */
export async function passthrough(deps: AppDeps, call: Call): Promise<Answer> {
  const { identity, req, res } = call;
  // Other methods are no API calls, and a provider may answer TRACE with the credential that it got.
  if (!PROXIED_METHODS.includes(req.method)) throw methodNotAllowed(req.method, PROXIED_METHODS, res);
  const entry = entryFor(call.req.path, identity.config);
  if (entry) return await passOn(deps, call, entry);
  const api = apiOf(call.req.path);
  if (api.startsWith('v1/')) throw notFoundAt(call.req.path);
  const body = await readNamedModel(call, api);
  // Paths below the gateway's own are proxied only for a model that declares them.
  if (isOwnPath(call.req.path) && !isProxiedBy(identity, body.model, api)) throw notFoundAt(call.req.path);
  const { name, model } = chooseModel(identity, body.model, api);
  if (model.kind !== 'proxy') {
    throw new GatewayError('unsupported_api', `The model ${name} does not support ${api}.`, { param: 'model' });
  }
  return await forward(deps, call, { ...body, modelName: name, model, api });
}

/** Whether `name` is a proxy model that declares an API. */
function isProxiedBy({ config, key }: Call['identity'], name: unknown, api: string): boolean {
  const model = typeof name === 'string' ? findModel(config, key, name) : undefined;
  return model?.kind === 'proxy' && declaresApi(model, api);
}

/** Whether a model that the key may use is reached under this API. */
function isOffered({ config, key }: Call['identity'], api: string): boolean {
  return Object.entries(config.models).some(([name, model]) => mayUseModel(key, name) && declaresApi(model, api));
}

/**
 * Reads a body that names a model.
 * @throws GatewayError `not_found` for a request that names none; `unsupported_media_type` if a model could be named here.
 */
async function readNamedModel(call: Call, api: string): Promise<PassthroughBody> {
  const { req, identity } = call;
  const type = mediaType(req);
  if (req.method === 'GET' || req.method === 'HEAD') throw notFoundAt(call.req.path);
  if (type === 'application/json') {
    const { raw, json } = await readJson(call);
    if (!Object.hasOwn(json, 'model')) throw notFoundAt(call.req.path);
    return { body: raw, modelAt: findModelSpan(raw), fields: json, model: json.model };
  }
  const boundary = type === 'multipart/form-data' ? boundaryOf(req.headers['content-type'] ?? '') : undefined;
  if (boundary === undefined) {
    if (hasBody(req) && isOffered(identity, api)) throw notJson();
    throw notFoundAt(call.req.path);
  }
  requireIdentity(req);
  const body = await readBody(call);
  const [field, second] = formFields(body, boundary, 'model');
  if (!field) throw notFoundAt(call.req.path);
  if (second) throw fieldError('invalid_parameter', 'model', 'give this field once.');
  return { body, modelAt: field, model: field.value };
}

/** `/v1/audio/speech` is the API `audio/speech`. @throws GatewayError `not_found` for a path that is not plain. */
function apiOf(path: string): string {
  if (!isPlainPath(path)) throw notFoundAt(path);
  return path.replace(/^\/v1\//, '').replace(/\/$/, '');
}
