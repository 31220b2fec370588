import { useEffect, useState } from '../lib/preact.js';
import { statusOf } from '../run/reasons.js';

/** Responses that are read at the same time for a list; of more the latest asked for comes first. */
const AT_ONCE = 3;
/** Runs whose facts are remembered. */
const KEPT = 2000;

const known = new Map();
const waiting = new Map();
let reading = 0;

/**
 * What the list of responses does not say of a run that has ended: why it is not whole, what it cost, what it follows. It is
 * read once, when its entry is `seen`; undefined until then.
 */
export function useFacts(client, { id, seen }) {
  const [facts, setFacts] = useState(known.get(id));
  useEffect(() => {
    if (!seen || facts) return;
    waiting.set(id, { client, onFacts: setFacts });
    readNext();
    return () => waiting.delete(id);
  }, [id, seen]);
  return facts;
}

function readNext() {
  const [id, { client, onFacts } = {}] = [...waiting].at(-1) ?? [];
  if (id === undefined || reading >= AT_ONCE) return;
  waiting.delete(id);
  reading += 1;
  client
    .response(id)
    .then(
      (response) => {
        known.set(id, factsOf(response));
        if (known.size > KEPT) known.delete(known.keys().next().value);
        onFacts(known.get(id));
      },
      // Deleted meanwhile, or the gateway is away: the entry shows what the list says.
      () => {},
    )
    .finally(() => {
      reading -= 1;
      readNext();
    });
  readNext();
}

function factsOf(response) {
  const { usage, previous_response_id: previous = null } = response;
  return { ...statusOf(response), cost: usage?.cost ?? null, tokens: usage?.total_tokens ?? 0, previous };
}
