import { isObject } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface Thinking {
  /** How a model of the Messages API is asked to think; `summarized`: by its own measure, with readable thoughts. */
  thinking: 'summarized' | 'adaptive' | 'enabled' | 'off';
  /** The most effort that such a model may be asked for. */
  mostEffort: 'max' | 'high' | 'none';
}

const NO_THINKING =
  /(?:not|n't) support.{0,40}thinking|thinking.{0,40}(?:is not|isn't|not) (?:supported|available|enabled)/i;

/**
 * How Anthropic's models are asked to think: newer ones decide by themselves (`adaptive`) and refuse a budget, older
 * ones know nothing but a budget, and some do not think at all.
 */
export const thinking: Trait<Thinking> = {
  start: () => ({ thinking: 'summarized', mostEffort: 'max' }),
  learn({ text, body }, traits) {
    const { output_config: output } = body;
    if (isObject(output) && output.effort !== undefined && /effort/i.test(text)) {
      traits.mostEffort = output.effort === 'xhigh' || output.effort === 'max' ? 'high' : 'none';
      return true;
    }
    if (!isObject(body.thinking) || !/thinking|adaptive|budget_tokens/i.test(text)) return false;
    const { thinking: now } = traits;
    if (now === 'off') return false;
    if (NO_THINKING.test(text)) traits.thinking = /adaptive/i.test(text) && now !== 'enabled' ? 'enabled' : 'off';
    else if (now === 'summarized' && /display/i.test(text)) traits.thinking = 'adaptive';
    else traits.thinking = now === 'enabled' ? 'off' : 'enabled';
    return true;
  },
};
