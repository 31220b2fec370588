import type { JsonObject } from '../../base/json.ts';
import { parsePlan, UPDATE_PLAN } from '../../protocol/plan.ts';
import { type Tool, ToolError } from '../../tools/tool.ts';
import type { ResearchRequest } from '../run/request.ts';

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      maxItems: 40,
      items: {
        type: 'object',
        properties: {
          text: {
            type: 'string',
            description: 'One part of the question that has to be known, in the language of the question.',
          },
          status: { type: 'string', enum: ['open', 'doing', 'done', 'dropped'] },
          finding: {
            type: 'string',
            description: 'In a sentence: what was found, with source ids, or why it was dropped.',
          },
        },
        required: ['text', 'status'],
      },
    },
  },
  required: ['items'],
};

/** Accepts the model's plan, which is read from the arguments of the call; see `ResearchState.plan`. */
export const planTool: Tool = {
  name: UPDATE_PLAN,
  description:
    'Writes down your plan for a question of several parts, or what became of it: always all items. Costs nothing; call it beside other tools.',
  parameters: PARAMETERS,
  timeoutMs: 5000,
  async call(args) {
    if (!parsePlan(JSON.stringify(args))) {
      throw new ToolError('invalid_arguments', 'items must hold at least one object with a text.');
    }
    return { sources: [], result: () => ({ ok: true }) };
  },
};

/**
 * Adds the plan tool for a run that may plan: one that has tools, and effort for more than a few rounds. A run that only
 * proposes a plan gets no other tool.
 */
export function withPlan(
  tools: ReadonlyMap<string, Tool>,
  { plan = 'auto', effort }: Pick<ResearchRequest, 'plan' | 'effort'>,
): ReadonlyMap<string, Tool> {
  if (plan === 'propose') return new Map([[planTool.name, planTool]]);
  if (tools.size === 0 || plan === 'off' || effort === 'low') return tools;
  return new Map(tools).set(planTool.name, planTool);
}
