import { GatewayError } from '../../../base/errors.ts';
import { conversationKeyOf } from '../../stored/conversation-key.ts';
import { readPlainRequest } from '../../stored/stored-request.ts';
import type { DriverParts } from './driver-parts.ts';
import type { RunDriver } from './run-driver.ts';
import { openRunTools, serversOf, warningsAbout } from './run-tools.ts';
import { runTimeLimit } from './time-limit.ts';

/**
 * Drives responses that the gateway makes of plain models (docs/api.md, "Responses of plain models"), with the current
 * configuration.
 */
export function drivePlain(parts: DriverParts): RunDriver['plain'] {
  return async function* ({ run, state, answerSoFar, live, shouldPause, ...options }) {
    const request = readPlainRequest(run);
    if (!request) throw new Error('the run holds no request of a plain model');
    const config = parts.config.current();
    using limit = runTimeLimit(options.signal, config.runs);
    const { signal } = limit;
    const model = config.models[run.model];
    if (model?.kind !== 'proxy') {
      throw new GatewayError('upstream_error', `The model ${run.model} is no longer configured.`);
    }
    const key = parts.config.keyById(run.keyId);
    const { hosted, toolChoice } = request;
    const log = parts.log.child({ run: run.id });
    await using opened = await openRunTools(parts, run, {
      builtin: toolChoice === 'none' ? [] : (hosted?.builtin ?? []),
      requested: hosted,
      sources: request.sources,
      conversation: toolChoice === 'none' ? [] : request.messages,
      functions: request.tools,
      configuredMcp: false,
      requestedMcp: toolChoice !== 'none' || request.approved !== undefined,
      signal,
      log,
    });
    for (const warning of warningsAbout(opened.tools)) state.warn(warning);
    // Imported late, so that starting the gateway does not load it.
    const { plainResponse } = await import('../../../plain/loop.ts');
    const servers = serversOf(opened.tools.values());
    if (servers.length > 0) yield { type: 'mcp_servers', servers };
    return yield* plainResponse({
      id: run.id,
      request,
      chat: parts.chatModel({
        modelName: run.model,
        model,
        key,
        runId: run.id,
        conversation: () => conversationKeyOf(run),
        onUsage: (usage) => state.spending.observe(usage),
        onWarning: (warning) => state.warn(warning),
      }),
      vision: model.vision,
      tools: opened.tools,
      onToolCall: (call) => parts.onToolCall?.(call),
      continuePrompt: parts.prompts.continueAnswer(),
      state,
      answerSoFar,
      live,
      ...(request.encryptedReasoning && { sealThought: (thought) => parts.sealed.sealThought(thought, run) }),
      ...((request.compacts || request.compactAt !== undefined) && {
        compaction: {
          threshold: request.compactAt ?? 0,
          maxTokens: model.max_completion_tokens,
          seal: (summary) => parts.sealed.sealSummary(summary, run),
        },
      }),
      log,
      signal,
      shouldPause,
    });
  };
}
