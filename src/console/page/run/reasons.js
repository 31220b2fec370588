/** Why a report is incomplete: in a few words beside its status, and as a sentence above it. */
const REASONS = {
  max_output_tokens: { short: 'length limit', long: 'The report was cut at its maximum length.' },
  max_tool_calls: {
    short: 'tool call limit',
    long: 'The research reached its limit of tool calls; the report uses what was found until then.',
  },
  budget: {
    short: 'budget used up',
    long: 'The research used up its budget; the report uses what was found until then.',
  },
  stuck: {
    short: 'no progress',
    long: 'The research made no more progress; the report uses what was found until then.',
  },
  no_sources: { short: 'no sources', long: 'Nothing could be retrieved: this report has no sources.' },
  content_filter: { short: 'filtered', long: 'The provider’s content filter ended the report.' },
};

export function reasonInShort(reason) {
  return REASONS[reason]?.short ?? String(reason);
}

export function reasonInWords(reason) {
  return REASONS[reason]?.long ?? `Incomplete: ${reason}.`;
}

/** A response's status for readers: the API also calls a report `completed` that was cut. */
export function statusOf({ status, incomplete_details: details }) {
  const reason = details?.reason ?? null;
  return reason !== null && status === 'completed' ? { status: 'incomplete', reason } : { status, reason };
}
