import { compact, elapsed, money } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { clockOf } from '../watching/clock.js';

/** Estimates tokens until the run reports its usage. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * What the run has used so far and what is left of its limits. `replaying`: the time up to this point comes from the
 * `timeline`, if that has times.
 */
export function Meters({ state, asked, replaying = false, timeline }) {
  const { response } = state;
  const now = useSeconds(!state.ended && !replaying);
  if (!response) return null;
  const { usage } = response;
  const start = (response.started_at ?? response.created_at) * 1000;
  const end = response.completed_at ? response.completed_at * 1000 : now;
  const passed = replaying && !state.ended ? clockOf(timeline)?.(state.last) : end - start;
  const { calls } = state;
  const known = usage?.total_tokens > 0;
  const written = Math.round(state.written / CHARACTERS_PER_TOKEN);
  const left = response.max_tool_calls ? `${Math.max(0, response.max_tool_calls - calls)} left` : undefined;
  const limit = asked?.max_cost ? `of ${asked.max_cost}` : undefined;
  const turns = endedTurns(timeline, replaying ? (passed ?? 0) : Number.POSITIVE_INFINITY);
  return html`<dl class="meters">
    <${Meter} name="Time" value=${passed === undefined ? '–' : elapsed(passed)} />
    <${Meter} name="Turns" value=${Math.max(state.turns, turns.length)} about=${response.reasoning?.effort && `${response.reasoning.effort} effort`} />
    <${Meter} name="Tool calls" value=${calls} about=${left} />
    <${Meter} name="Sources" value=${state.sources.size} about=${`${state.sources.read} read`} />
    ${
      known
        ? html`<${Meter}
            name="Tokens"
            value=${compact(usage.total_tokens)}
            about=${`${compact(usage.input_tokens)} in, ${compact(usage.output_tokens)} out${usage.estimated ? ', estimated' : ''}`}
          />`
        : html`<${Meter} name="Tokens" value=${`≈ ${compact(written)}`} about="written so far" />`
    }
    <${Cost} state=${state} turns=${turns} currency=${timeline?.currency} limit=${limit} />
  </dl>`;
}

function endedTurns(timeline, ms) {
  return (timeline?.turns ?? []).filter((turn) => turn.ended_ms <= ms);
}

/** The cost of the run, or while it continues, of the turns that have ended. */
function Cost({ state: { ended, response }, turns, currency, limit }) {
  const known = response.usage?.cost;
  if (known && (ended || known.total > 0)) return html`<${Meter} name="Cost" value=${money(known)} about=${limit} />`;
  // If a route has no price, the sum of the others is not the cost.
  if (ended) return null;
  const costs = turns.map(({ cost }) => cost).filter((cost) => cost !== null);
  if (costs.length === 0) return limit && html`<${Meter} name="Cost" value="…" about=${limit} />`;
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  return html`<${Meter} name="Cost" value=${money({ total, currency })} about=${['so far', limit].filter(Boolean).join(', ')} />`;
}

export function Meter({ name, value, about }) {
  return html`<div class="meter"><dt>${name}</dt><dd>${value}${about && html`<span>${about}</span>`}</dd></div>`;
}

/** The time in Unix milliseconds, each second while `running`. */
export function useSeconds(running) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
