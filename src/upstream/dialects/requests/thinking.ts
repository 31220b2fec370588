import { isObject } from '../../../base/json.ts';
import type { Lesson } from './traits.ts';

/**
 * How Anthropic's models are asked to think: newer ones decide by themselves (`adaptive`) and refuse a budget, older
 * ones know nothing but a budget, and some do not think at all.
 */
export const learnThinking: Lesson = ({ text, body }, traits) => {
  if (!isObject(body.thinking) || !/thinking|adaptive|budget_tokens/i.test(text)) return false;
  if (traits.thinking === 'off') return false;
  if (
    /(?:not|n't) support.{0,40}thinking|thinking.{0,40}(?:is not|isn't|not) (?:supported|available|enabled)/i.test(text)
  ) {
    traits.thinking = /adaptive/i.test(text) && traits.thinking !== 'enabled' ? 'enabled' : 'off';
  } else if (traits.thinking === 'summarized' && /display/i.test(text)) traits.thinking = 'adaptive';
  else traits.thinking = traits.thinking === 'enabled' ? 'off' : 'enabled';
  return true;
};
