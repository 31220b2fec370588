import { Document, isScalar, type Pair, Scalar, visit } from 'yaml';
import { toSingleLine } from '../../base/text.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import type { DecodedTurn } from '../decoding/decoded-turn.ts';
import { startingTraits, suggestedDialect } from '../dialects/dialects.ts';
import { learnedSince, type RequestTraits } from '../dialects/requests/traits.ts';
import type { TurnPart } from '../turn.ts';

/** One fact about a provider. */
export interface ProbeFinding {
  /** What was tested, such as `tool calls`. */
  about: string;
  result: 'yes' | 'no' | 'unknown';
  /** One line for people. */
  detail: string;
}

export interface ProbeReport {
  provider: string;
  model: string;
  /** Whether the provider can serve research: it answers and calls tools, natively or as text. */
  usable: boolean;
  findings: ProbeFinding[];
  /** A complete configuration file with this provider; credentials are variables. */
  configuration: string;
}

/** Where the answer had the model's reasoning. */
export function reasoningFinding({ parts, turn }: { parts: readonly TurnPart[]; turn: DecodedTurn }): ProbeFinding {
  const about = 'reasoning';
  if (!parts.some((part) => part.type === 'reasoning')) return { about, result: 'no', detail: 'none shown' };
  const fields = Object.keys(turn.replay ?? {}).filter((field) => field.startsWith('reasoning'));
  const where = fields.length > 0 ? `in ${fields.join(' and ')}` : 'inside the content (tags or parts)';
  return { about, result: 'yes', detail: where };
}

/** What the provider's refusals taught. */
export function learnedFinding(learned: RequestTraits, before: RequestTraits): ProbeFinding {
  const about = 'all parameters accepted';
  const details = learnedSince(before, learned);
  if (details.length === 0) return { about, result: 'yes', detail: 'nothing was refused' };
  return { about, result: 'no', detail: `${details.join('; ')} (adapted by itself)` };
}

/** The largest output limit to configure, even where the provider allows more, in tokens. */
const MAX_OUTPUT = 64_000;

/**
 * A configuration file that matches what was found.
 * @param written the provider's section as configured, without secrets.
 */
export function configurationText(
  options: { name: string; config: RemoteProviderConfig; written: Readonly<Record<string, unknown>> },
  model: string,
  traits: RequestTraits,
): string {
  const { name, config, written } = options;
  const dialect = config.dialect ?? suggestedDialect(traits, startingTraits(config));
  const provider = { ...written, ...(dialect === undefined ? {} : { dialect }) };
  const { outputLimit } = traits;
  const research = {
    kind: 'research',
    ...(outputLimit === undefined ? {} : { max_completion_tokens: Math.min(outputLimit, MAX_OUTPUT) }),
    routes: [{ provider: name, model }],
  };
  const document = new Document({
    providers: { [name]: provider },
    models: { 'deep-research': research },
    keys: [{ id: 'local', secret: `\${GATEWAY_API_KEY}` }],
  });
  visit(document, { Pair: (_, pair) => quoteReference(pair) });
  return document.toString({ defaultStringType: 'PLAIN', lineWidth: 0 });
}

/** Quotes a variable, so that its value is a string whatever it holds; not for numbers. */
function quoteReference({ key, value }: Pair): void {
  const isNumber = isScalar(key) && NUMBER_KEYS.test(String(key.value));
  if (!isNumber && isScalar(value) && String(value.value).includes('${')) value.type = Scalar.QUOTE_DOUBLE;
}

const NUMBER_KEYS = /^(?:max_\w+|connect|first_byte|first_token|idle|thinking|patience|total)$/;

/** A model's text on one short line. */
export function quoted(text: string): string {
  const line = toSingleLine(text);
  return line === '' ? 'no text' : `"${line.length > 60 ? `${line.slice(0, 57)}...` : line}"`;
}
