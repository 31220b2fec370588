import { DIALECT_NAMES, type DialectName } from '../../config/dialect-names.ts';
import { REPLAY_FIELDS } from './replay-fields.ts';
import { wantsCacheMarks } from './requests/cache-marks.ts';
import { defaultTraits, type RequestTraits } from './requests/traits.ts';

/** What is known of a family of providers before the first answer; everything else is learned from answers. */
interface Dialect {
  /** Hosts that use this dialect unless another one is configured. */
  hosts?: RegExp;
  traits: Partial<RequestTraits>;
  /** Whether refusals taught what it assumes: `probe` suggests the last such dialect. */
  isLearned?(learned: RequestTraits, before: RequestTraits): boolean;
}

const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  /** Assumes nothing: turns off the dialect that a host would select. */
  generic: { traits: {} },
  openai: {
    hosts: /(^|\.)openai\.com$|\.openai\.azure\.com$|\.services\.ai\.azure\.com$/,
    traits: { outputLimitField: 'max_completion_tokens' },
    isLearned: (learned, before) => learned.outputLimitField !== before.outputLimitField,
  },
  mistral: {
    hosts: /(^|\.)mistral\.ai$/,
    traits: {
      refusedParameters: new Set(['prompt_cache_key']),
      toolCallIds: 'short',
      endsWithUser: true,
      refusedReplay: new Set(['reasoning_content', 'reasoning']),
    },
    isLearned: (learned, before) => learned.toolCallIds === 'short' && before.toolCallIds === 'any',
  },
  /** Models whose chat template opens `<think>` in the prompt, so that only `</think>` is in the answer. */
  open_think: {
    traits: { startsThinking: true },
    isLearned: (learned, before) => learned.startsThinking && !before.startsThinking,
  },
  /** Providers that answer 400 unless every tool-call turn comes back with its reasoning. */
  reasoning_required: {
    traits: { reasoningRequired: true },
    isLearned: (learned, before) => learned.reasoningRequired && !before.reasoningRequired,
  },
  /** Reasoning is never sent back. */
  no_replay: { traits: { refusedReplay: new Set(REPLAY_FIELDS) } },
  /** Providers that cache only what carries a cache mark. */
  cache_marks: { traits: { cacheMarks: true } },
  /** Models without native tool calls: tools are described in the instructions, calls read from the text. */
  text_tools: {
    traits: { toolProtocol: 'text' },
    isLearned: (learned, before) => learned.toolProtocol === 'text' && before.toolProtocol === 'native',
  },
  /** Chat templates that know no system role and want the roles to alternate. */
  plain_chat: {
    traits: { instructionRole: 'user', alternatingRoles: true, toolProtocol: 'text' },
    isLearned: (learned) => learned.instructionRole === 'user' && learned.toolProtocol === 'text',
  },
};

/** How a provider's requests are shaped before anything is learned. `model`: the provider's name for it. */
export function startingTraits(
  config: { base_url: string; dialect?: DialectName | undefined },
  model = '',
): RequestTraits {
  const dialect = config.dialect === undefined ? dialectOfHost(config.base_url) : DIALECTS[config.dialect];
  const byModel = config.dialect === undefined && wantsCacheMarks(model) ? { cacheMarks: true } : {};
  return structuredClone({ ...defaultTraits(), ...byModel, ...dialect.traits });
}

/** The dialect with which the refusals that taught these traits would not have happened, if there is one. */
export function suggestedDialect(learned: RequestTraits, before: RequestTraits): DialectName | undefined {
  return DIALECT_NAMES.findLast((name) => DIALECTS[name].isLearned?.(learned, before));
}

function dialectOfHost(baseUrl: string): Dialect {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return Object.values(DIALECTS).find((dialect) => dialect.hosts?.test(host)) ?? { traits: {} };
}
