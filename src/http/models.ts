import { fieldError, GatewayError } from '../base/errors.ts';
import type { GatewayConfig, KeyConfig, ModelConfig, ProxyModelConfig } from '../config/schema.ts';
import type { Identity } from './app-deps.ts';

/** A configured model that a request may use. */
export interface ChosenModel {
  name: string;
  model: ModelConfig;
}

/**
 * The model that a body names, which the key may use and which declares the API.
 * @throws GatewayError `missing_parameter`, `invalid_parameter`, `model_not_found`, `unsupported_api`.
 */
export function chooseModel({ config, key, context }: Identity, name: unknown, api: string): ChosenModel {
  const param = 'model';
  if (name === undefined || name === null) throw fieldError('missing_parameter', param, 'this field is required.');
  if (typeof name !== 'string' || name === '') {
    throw fieldError('invalid_parameter', param, 'expected the name of a model.');
  }
  const model = findModel(config, key, name);
  context.model = model ? name : 'unknown';
  if (!model) {
    const quoted = JSON.stringify(name.slice(0, 100));
    throw new GatewayError('model_not_found', `There is no model ${quoted} that this key may use.`, { param });
  }
  if (declaresApi(model, api)) return { name, model };
  const message = `The model ${name} does not support ${api}. It supports: ${model.apis.join(', ')}.`;
  throw new GatewayError('unsupported_api', message, { param });
}

/** The model of this name; undefined if there is none or the key may not use it. */
export function findModel(config: GatewayConfig, key: KeyConfig, name: string): ModelConfig | undefined {
  if (!Object.hasOwn(config.models, name) || !mayUseModel(key, name)) return undefined;
  return config.models[name];
}

export function mayUseModel(key: KeyConfig, name: string): boolean {
  return key.models === undefined || key.models.includes(name);
}

/** Whether a model declares an API, by its name; `audio/speech` also as `audio` or `audio_speech`. */
export function declaresApi(model: ModelConfig, api: string): boolean {
  const apis: readonly string[] = model.apis;
  if (apis.includes(api)) return true;
  if (!api.includes('/')) return false;
  if (apis.includes(api.replaceAll('/', '_'))) return true;
  const segments = api.split('/');
  return segments.some((_, length) => length > 0 && apis.includes(segments.slice(0, length).join('/')));
}

type Routing = Pick<Identity, 'key' | 'config'>;

/**
 * Whether the gateway makes the chat completions of a plain model itself, because none of its routes speaks that API
 * (docs/api.md, "Chat completions of plain models").
 */
export function gatewayMakesChat(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).every((wire) => wire !== 'chat');
}

/**
 * Whether the gateway makes the responses of a plain model itself (docs/api.md, "Responses of plain models"): as
 * configured, or else if one of its routes does not speak the Responses API.
 */
export function gatewayMakesResponses(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  if (model.responses) return model.responses === 'gateway';
  return !wiresOf(identity, name, model).every((wire) => wire === 'responses');
}

/** Whether any route of a model reports the probabilities of tokens. The Messages API does not. */
export function reportsLogprobs(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).some((wire) => wire !== 'messages');
}

/** What any route of a model can do for chat completions that the gateway makes. `stops`: honours stop sequences. */
export function chatAbilities(identity: Routing, name: string, model: ProxyModelConfig) {
  const stops = wiresOf(identity, name, model).some((wire) => wire === 'messages');
  return { stops, reportsLogprobs: reportsLogprobs(identity, name, model) };
}

/** Whether every route of a model enforces the grammar of a custom tool. Only the Responses API does. */
export function enforcesGrammars(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).every((wire) => wire === 'responses');
}

function wiresOf({ key, config }: Routing, name: string, { routes }: ProxyModelConfig) {
  return (key.routes[name] ?? routes).map(({ provider: providerName }) => {
    const provider = config.providers[providerName];
    return provider && 'wire' in provider ? provider.wire : 'chat';
  });
}
