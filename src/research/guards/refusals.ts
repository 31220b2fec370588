/** Recognises models that do not research: they refuse, or they invent tool results. */

/** A longer text is more than a refusal, in UTF-16 code units. */
const LONGEST_REFUSAL = 600;

/** Whether a message is a refusal and nothing else. An apology or a gap that it admits does not count. */
export function isRefusal(text: string): boolean {
  return text.length <= LONGEST_REFUSAL && REFUSALS.some((refusal) => refusal.test(text)) && !/\bready\b/i.test(text);
}

const REFUSALS: readonly RegExp[] = [
  /\b(?:I|we)(?:'m| am|’m| are)? (?:sorry,? (?:but )?(?:I|we) )?(?:really |just )?(?:cannot|can't|can’t|can not|won't|won’t|will not|(?:am |'m |’m )?(?:unable|not able|not allowed) to) (?:\w+ ){0,2}(?:help|assist|comply|fulfil|do (?:that|this)|support|continue with (?:this|that)|engage|answer (?:this|that|your|the) (?:question|request)|provide (?:this|that|any|such|the requested))/i,
  /\bas an AI\b.{0,60}\b(?:cannot|can't|can’t|unable|not able)\b/is,
  /\b(?:against|violates?) (?:my|our|the) (?:guidelines|polic(?:y|ies)|rules)\b/i,
  /\b(?:kann|darf|werde) (?:ich )?(?:dabei|Ihnen|dir|das|diese\w*|hierbei)?.{0,40}\bnicht (?:helfen|beantworten|unterstützen|weiterhelfen)/i,
  /\bje (?:suis désolée?,? (?:mais )?je )?ne peux pas (?:vous |t')?(?:aider|répondre|fournir)/i,
  /\b(?:no puedo|lamento no poder) (?:ayudar|responder|proporcionar|cumplir)/i,
  /(?:抱歉|对不起|很遗憾).{0,20}(?:无法|不能)|我(?:无法|不能)(?:帮助|协助|提供|回答|满足)/,
  /(?:申し訳|すみません).{0,40}(?:できません|出来ません|いたしかねます)|お(?:手伝い|答え)(?:する(?:こと)?は)?でき(?:ません|かねます)/,
];

/** The index at which a model's text starts to invent a tool result, or -1. */
export function findInventedResult(text: string): number {
  return text.search(INVENTED);
}

/** Tags of tool results, and the transcript style in which models invent whole rounds of calls and results. */
const INVENTED = new RegExp(
  [
    String.raw`</?(?:tool|function)_(?:result|response|output)s?(?:-\w+)?>`,
    String.raw`^[ \t]*Action(?: Input)?:[^\n]*\n(?:[^\n]*\n){0,4}?[ \t]*Observation:`,
    String.raw`^[ \t]*(?:Observation|(?:Tool|Function|Search) (?:result|output|response)s?):\s*(?:\x60{3}\w*\s*)?[{[]\s*["{]`,
  ].join('|'),
  'im',
);
