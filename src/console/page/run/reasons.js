/** Why a report is not whole: in a word or two beside its status, and as a sentence above it. */
const REASONS = {
  max_output_tokens: { short: 'cut at its length', long: 'The report was cut at its maximum length.' },
  max_tool_calls: {
    short: 'no more tool calls',
    long: 'The research ended at its maximum number of tool calls; the report is written from what was found until then.',
  },
  budget: {
    short: 'budget used up',
    long: 'The research ended with its budget; the report is written from what was found until then.',
  },
  stuck: {
    short: 'got no further',
    long: 'The research did not get further; the report is written from what was found until then.',
  },
  no_sources: { short: 'no sources', long: 'Nothing could be retrieved: this report rests on no source.' },
  content_filter: { short: 'filtered', long: 'The provider’s filter ended the report.' },
};

export function reasonInShort(reason) {
  return REASONS[reason]?.short ?? String(reason);
}

export function reasonInWords(reason) {
  return REASONS[reason]?.long ?? `Incomplete: ${reason}.`;
}

/** A response's status as readers need it: a report that was cut is called `completed` by the API, too. */
export function statusOf({ status, incomplete_details: details }) {
  const reason = details?.reason ?? null;
  return reason !== null && status === 'completed' ? { status: 'incomplete', reason } : { status, reason };
}
