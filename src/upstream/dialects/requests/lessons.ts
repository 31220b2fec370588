import { learnCacheMarks } from './cache-marks.ts';
import { learnCallsLast } from './calls-last.ts';
import { learnEmptyContent } from './empty-content.ts';
import { learnInstructionRole } from './instruction-role.ts';
import { learnMessageOrder } from './message-order.ts';
import { learnLargestOutput, learnOutputLimit } from './output-limit.ts';
import { learnRefusedParameters } from './refused-parameters.ts';
import { learnReplay } from './replay.ts';
import { learnThinking } from './thinking.ts';
import { learnToolCallIds } from './tool-call-ids.ts';
import { learnToolProtocol } from './tool-protocol.ts';
import { learnToolSchemas } from './tool-schemas.ts';
import type { Lesson, RefusedRequest, RequestTraits } from './traits.ts';

/** From the most to the least specific: the first that recognises itself is the lesson. */
const LESSONS: readonly Lesson[] = [
  learnToolCallIds,
  learnOutputLimit,
  learnThinking,
  learnCacheMarks,
  learnCallsLast,
  learnReplay,
  learnRefusedParameters,
  learnToolProtocol,
  learnToolSchemas,
  learnMessageOrder,
  learnInstructionRole,
  learnEmptyContent,
];

/** Learns from a refusal what the route wants. True: the request may be asked again in its new form. */
export function learn(refusal: RefusedRequest, traits: RequestTraits): boolean {
  return LESSONS.some((lesson) => lesson(refusal, traits));
}

/** Learns from a request that did not fit: perhaps only the output was too large. */
export function learnFromContextOverflow(refusal: RefusedRequest, traits: RequestTraits): boolean {
  return learnLargestOutput(refusal, traits);
}
