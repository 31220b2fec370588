import { isObject } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface Thinking {
  /** How a model of the Messages API is asked to think; `summarized`: adaptive, with a readable summary. */
  thinking: 'summarized' | 'adaptive' | 'enabled' | 'off';
}

const NO_THINKING =
  /(?:not|n't) support.{0,40}thinking|thinking.{0,40}(?:is not|isn't|not) (?:supported|available|enabled)/i;

/**
 * How Anthropic's models are asked to think: newer ones decide for themselves (`adaptive`) and refuse a budget, older
 * ones accept only a budget, and some do not think at all.
 */
export const thinking: Trait<Thinking> = {
  start: () => ({ thinking: 'summarized' }),
  learn({ text, body }, traits) {
    if (!isObject(body.thinking) || !/thinking|adaptive|budget_tokens/i.test(text)) return false;
    const { thinking: current } = traits;
    if (current === 'off') return false;
    if (NO_THINKING.test(text)) traits.thinking = /adaptive/i.test(text) && current !== 'enabled' ? 'enabled' : 'off';
    else if (current === 'summarized' && /display/i.test(text)) traits.thinking = 'adaptive';
    else traits.thinking = current === 'enabled' ? 'off' : 'enabled';
    return true;
  },
};
