/** Serialises the events of a run's stream, for tests of events that no real run produces. */
export function syntheticStream(events: readonly object[]): string {
  const numbered = events.map((event, index) => ({ ...event, sequence_number: index + 1 }));
  return numbered.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 30,
  num_search_queries: 1,
  num_tool_calls: 1,
};

export interface SyntheticParts {
  id: string;
  answer: string;
  /** Items before the message. */
  items?: object[];
  annotations?: object[];
  response?: object;
}

/** The events of a finished run with these items and this answer. */
export function syntheticRun({ id, answer, items = [], annotations = [], response = {} }: SyntheticParts): object[] {
  const base = {
    id,
    object: 'response',
    created_at: 1_795_304_000,
    started_at: 1_795_304_000,
    completed_at: null,
    status: 'in_progress',
    model: 'deep',
    output: [],
    usage: { ...USAGE, total_tokens: 0 },
    error: null,
    incomplete_details: null,
    text: { format: { type: 'text' } },
    reasoning: { effort: 'high' },
    ...response,
  };
  const content = [{ type: 'output_text', text: answer, annotations, logprobs: [] }];
  const output = [...items, { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
  return [
    { type: 'response.created', response: base },
    ...output.flatMap((item, output_index) => [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, content: [], result: undefined, status: 'in_progress' },
      },
      { type: 'response.output_item.done', output_index, item },
    ]),
    {
      type: 'response.completed',
      response: { ...base, output, status: 'completed', completed_at: 1_795_304_100, usage: USAGE, ...response },
    },
  ];
}

/** A citation of source `index` at the first occurrence of its marker in an answer. */
export function syntheticCitation(answer: string, index: number, change: object = {}): object {
  const marker = `[${index}]`;
  const start = answer.indexOf(marker);
  return {
    type: 'url_citation',
    start_index: start,
    end_index: start + marker.length,
    url: `https://example.org/${index}`,
    title: `Source number ${index}`,
    index,
    source_id: index,
    verified: true,
    cited_text: null,
    support: 'unchecked',
    ...change,
  };
}
