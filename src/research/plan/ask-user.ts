import type { JsonObject } from '../../base/json.ts';
import { type Tool, ToolError } from '../../tools/tool.ts';
import { ASK_USER } from '../run/own-tools.ts';
import type { ResearchState } from '../run/state.ts';

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      description: 'What you ask, in the language of the user; a few short questions at most.',
    },
  },
  required: ['question'],
};

/** The tool with which a model asks the user, before it looks anything up; see `ResearchState.question`. */
export function askUserTool(state: Pick<ResearchState, 'toolCalls'>): Tool {
  return {
    name: ASK_USER,
    description: 'Asks the user what only the user knows and the research depends on. It ends this answer.',
    parameters: PARAMETERS,
    timeoutMs: 5000,
    async call({ question }) {
      if (typeof question !== 'string' || question.trim() === '') {
        throw new ToolError('invalid_arguments', 'question must be a text.');
      }
      if (state.toolCalls > 0) {
        throw new ToolError(
          'too_late',
          'The research has begun: answer with what can be known, and say what you assumed.',
        );
      }
      return { sources: [], result: () => ({ ok: true }) };
    },
  };
}
