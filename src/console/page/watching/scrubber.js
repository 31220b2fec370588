import { elapsed } from '../format.js';
import { html, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { Button, Choice } from '../parts/controls.js';
import { clockOf } from './clock.js';
import { play } from './replay.js';

const SPEEDS = [0.5, 1, 2, 4, 16, 64];

/** Replays a run from any point of its log. A `position` of null is its end. */
export function Scrubber({ session, timeline, error, position, onPosition, onClose }) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const current = useRef(speed);
  current.current = speed;
  const last = session.state.last;
  const at = position ?? last;
  const timeOf = useMemo(() => clockOf(timeline), [timeline]);
  useEffect(() => {
    if (!playing) return;
    const from = at >= last ? 0 : at;
    if (from === 0) onPosition(0);
    return play({
      events: session.events,
      from,
      at: timeOf,
      speed: () => current.current,
      onPosition,
      onEnd: () => setPlaying(false),
    });
  }, [playing, timeOf]);
  const seek = (event) => {
    setPlaying(false);
    onPosition(Number(event.currentTarget.value));
  };
  return html`<div class="scrubber" role="group" aria-label="Replay">
    <${Button} kind="round" icon=${playing ? 'pause' : 'play'} aria-label=${playing ? 'Pause' : 'Play'} onClick=${() => setPlaying(!playing)} />
    <input type="range" min="0" max=${last} value=${at} aria-label="Event" aria-valuetext=${`event ${at} of ${last}`} onInput=${seek} />
    <span class="scrubber-place">${timeOf ? `${elapsed(at === 0 ? 0 : timeOf(at))} of ${elapsed(timeOf(last))}` : `${at} / ${last}`}</span>
    <${Choice} kind="scrubber-speed" label="Speed" value=${String(speed)} options=${SPEEDS.map((value) => [String(value), `${value}×`])} onChoose=${(value) => setSpeed(Number(value))} />
    <${Button} kind="bare" icon="cross" aria-label="Close replay" onClick=${onClose} />
    <p class="scrubber-note">${noteOn({ timeline, error, timeOf })}</p>
  </div>`;
}

function noteOn({ timeline, error, timeOf }) {
  if (timeOf) return 'At the pace of the run.';
  return timeline || error ? 'This run has no stored times: the pace is estimated.' : 'Loading the times of this run…';
}
