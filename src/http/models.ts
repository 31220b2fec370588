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

/** What the gateway does for a plain model itself, and what its routes can do; a key may have routes of its own. */
export function servingOf(
  { key, config }: Pick<Identity, 'key' | 'config'>,
  name: string,
  { routes, responses }: ProxyModelConfig,
) {
  const wires = (key.routes[name] ?? routes).map(({ provider: providerName }) => {
    const provider = config.providers[providerName];
    return provider && 'wire' in provider ? provider.wire : 'chat';
  });
  const speaksResponses = wires.every((wire) => wire === 'responses');
  return {
    /** Chat completions are made here if no route speaks that API (docs/api.md, "Chat completions of plain models"). */
    makesChat: !wires.includes('chat'),
    /** Responses as configured, or else if a route does not speak that API (docs/api.md, "Responses of plain models"). */
    makesResponses: responses ? responses === 'gateway' : !speaksResponses,
    /** A route reports the probabilities of tokens. The Messages API does not. */
    reportsLogprobs: wires.some((wire) => wire !== 'messages'),
    /** A route honours the stop sequences of chat completions that are made here. */
    stops: wires.includes('messages'),
    /** Every route enforces the grammars of custom tools. Only the Responses API does. */
    enforcesGrammars: speaksResponses,
  };
}
