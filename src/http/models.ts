import { fieldError, GatewayError } from '../base/errors.ts';
import type { GatewayConfig, KeyConfig, ModelConfig, ProxyModelConfig } from '../config/schema.ts';
import type { Identity } from './app-deps.ts';

/** A configured model that a request may use. */
export interface ChosenModel {
  name: string;
  model: ModelConfig;
}

/**
 * The model that a body names, if the key may use it and it declares the API.
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
    const shown = JSON.stringify(name.slice(0, 100));
    throw new GatewayError('model_not_found', `There is no model ${shown} that this key may use.`, { param });
  }
  if (declaresApi(model, api)) return { name, model };
  const message = `The model ${name} does not support ${api}. It supports: ${model.apis.join(', ')}.`;
  throw new GatewayError('unsupported_api', message, { param });
}

/** The model of this name, if there is one and the key may use it: the two are not told apart. */
export function findModel(config: GatewayConfig, key: KeyConfig, name: string): ModelConfig | undefined {
  if (!Object.hasOwn(config.models, name) || !mayUseModel(key, name)) return undefined;
  return config.models[name];
}

export function mayUseModel(key: KeyConfig, name: string): boolean {
  return key.models === undefined || key.models.includes(name);
}

/** Whether a model declares an API: by its name, or for `audio/speech` also by `audio` or `audio_speech`. */
export function declaresApi(model: ModelConfig, api: string): boolean {
  const apis: readonly string[] = model.apis;
  if (apis.includes(api)) return true;
  if (!api.includes('/')) return false;
  if (apis.includes(api.replaceAll('/', '_'))) return true;
  const steps = api.split('/');
  return steps.some((_, length) => length > 0 && apis.includes(steps.slice(0, length).join('/')));
}

type Routing = Pick<Identity, 'key' | 'config'>;

/**
 * Whether the gateway makes the chat completions of a plain model itself (docs/api.md, "Chat completions of plain
 * models"): where none of its routes speaks that API.
 */
export function gatewayMakesChat(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).every((wire) => wire !== 'chat');
}

/**
 * Whether the gateway makes the responses of a plain model itself (docs/api.md, "Responses of plain models"): what is
 * configured, or else where one of its routes does not speak the Responses API.
 */
export function gatewayMakesResponses(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  if (model.responses) return model.responses === 'gateway';
  return !wiresOf(identity, name, model).every((wire) => wire === 'responses');
}

/** Whether a provider of a model's routes tells how probable tokens are: the Messages API does not. */
export function reportsLogprobs(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).some((wire) => wire !== 'messages');
}

/** What some provider of a model can do for chat completions that the gateway makes; `stops`: end at texts of the client's. */
export function chatAbilities(identity: Routing, name: string, model: ProxyModelConfig) {
  const stops = wiresOf(identity, name, model).some((wire) => wire === 'messages');
  return { stops, reportsLogprobs: reportsLogprobs(identity, name, model) };
}

/** Whether every provider of a model's routes holds it to the grammar of a custom tool: the Responses API alone does. */
export function enforcesGrammars(identity: Routing, name: string, model: ProxyModelConfig): boolean {
  return wiresOf(identity, name, model).every((wire) => wire === 'responses');
}

function wiresOf({ key, config }: Routing, name: string, { routes }: ProxyModelConfig) {
  return (key.routes[name] ?? routes).map(({ provider: named }) => {
    const provider = config.providers[named];
    return provider && 'wire' in provider ? provider.wire : 'chat';
  });
}
