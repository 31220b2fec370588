import type { Environment } from '../../config/environment.ts';
import { explainKeyModel } from '../../keys/explain.ts';
import type { Explanation } from '../../protocol/operating/explanation.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadOrExplain } from '../serve.ts';
import type { Terminal } from '../terminal.ts';

/** Prints what a key gets when it requests a model: routes, credentials, limits, tools. Prints no secrets. */
export async function explainConfig(
  options: { file?: string | undefined; key: string; model: string },
  { environment, terminal }: { environment: Environment; terminal: Terminal },
): Promise<ExitCode> {
  const loaded = await loadOrExplain({ environment, file: options.file }, terminal);
  if (loaded === undefined) return EXIT.usage;
  const { config } = loaded;
  const key = config.keys.find(({ id }) => id === options.key);
  const model = Object.hasOwn(config.models, options.model) ? config.models[options.model] : undefined;
  if (!key)
    return misuse(
      terminal,
      `there is no key ${options.key}`,
      config.keys.map(({ id }) => id),
    );
  if (!model) return misuse(terminal, `there is no model ${options.model}`, Object.keys(config.models));
  const explanation = explainKeyModel(config, { key, model, name: options.model });
  terminal.out(`${[...modelLines(explanation), ...keyLines(explanation)].join('\n')}\n`);
  return EXIT.completed;
}

function misuse(terminal: Terminal, what: string, known: readonly string[]): ExitCode {
  const rest = known.length > MAX_SHOWN ? `, and ${known.length - MAX_SHOWN} more` : '';
  terminal.err(`error: ${what}; there are: ${known.slice(0, MAX_SHOWN).join(', ')}${rest}\n`);
  return EXIT.usage;
}

const MAX_SHOWN = 20;

function modelLines(explanation: Explanation): string[] {
  const { model, kind, key, allowed, models, apis, routes, routes_of: of, tools, expires_at: expiresAt } = explanation;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  const notNamed = allowed ? undefined : `models of the key names ${models?.join(', ') || 'none'}`;
  const refusal = isExpired ? 'the key has expired' : notNamed;
  return [
    `model ${model} (${kind}), as the key ${key} sees it:`,
    refusal === undefined ? 'may be used' : `may NOT be used: ${refusal}`,
    `answers: ${apis.join(', ')}`,
    `routes, in the order in which they are asked (of the ${of}):`,
    ...routes.map((route, at) => `  ${at + 1}. ${routeLine(route)}`),
    ...(tools ? [`tools: ${tools.join(', ') || 'none'}`] : []),
  ];
}

function routeLine(route: Explanation['routes'][number]): string {
  const where = route.url === null ? 'built in' : `${route.url}, wire ${route.wire}`;
  const share = route.weight === null ? '' : `, weight ${route.weight}`;
  const rank = route.priority === null ? '' : `, priority ${route.priority}`;
  const price = route.price ? `${route.price.input} in, ${route.price.output} out a million tokens` : 'without a price';
  return `${route.provider}: ${route.model} (${where}; ${route.credential}; ${price}${rank}${share})`;
}

function keyLines({ limits, user, may, webhook, expires_at: expiresAt, allow_from: networks }: Explanation): string[] {
  return [
    ...(expiresAt === null ? [] : [`the key is refused from ${expiresAt} on`]),
    ...(networks === null ? [] : [`it may be used from ${networks.join(', ')} alone`]),
    `limits of the key: ${limits.map(({ name, value }) => `${name} ${value}`).join(', ') || 'none'}`,
    `runs belong to the user ${user}`,
    `it may also: ${may.join(', ') || 'nothing'}`,
    ...(webhook === null ? [] : [`the end of its background work is told to ${webhook}`]),
  ];
}
