import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import { noUsage, type TurnUsage } from '../../upstream/turn.ts';

/** The tokens of a turn that nobody counted: of its request, and of the text that came. */
export function estimatedUsage({ estimate, text }: { estimate: number; text: string }): TurnUsage {
  return { ...noUsage(), inputTokens: estimate, outputTokens: estimateTokens(text), estimated: true };
}
