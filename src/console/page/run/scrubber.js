import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Button } from '../parts/controls.js';
import { play } from './replay.js';

const SPEEDS = [0.5, 1, 2, 4, 16, 64];

/** Plays a run again from any point of its log. `position` null: at its end. */
export function Scrubber({ session, position, onPosition, onClose }) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const current = useRef(speed);
  current.current = speed;
  const last = session.state.last;
  const at = position ?? last;
  useEffect(() => {
    if (!playing) return;
    const from = at >= last ? 0 : at;
    if (from === 0) onPosition(0);
    return play({
      events: session.events,
      from,
      speed: () => current.current,
      onPosition,
      onEnd: () => setPlaying(false),
    });
  }, [playing]);
  const seek = (event) => {
    setPlaying(false);
    onPosition(Number(event.currentTarget.value));
  };
  return html`<div class="scrubber" role="group" aria-label="Replay">
    <${Button} kind="round" icon=${playing ? 'pause' : 'play'} aria-label=${playing ? 'Pause' : 'Play'} onClick=${() => setPlaying(!playing)} />
    <input type="range" min="0" max=${last} value=${at} aria-label="Event" aria-valuetext=${`event ${at} of ${last}`} onInput=${seek} />
    <span class="scrubber-place">${at} / ${last}</span>
    <label class="scrubber-speed">Speed <select value=${String(speed)} onChange=${(event) => setSpeed(Number(event.currentTarget.value))}>
      ${SPEEDS.map((value) => html`<option value=${String(value)} key=${value}>${value}×</option>`)}
    </select></label>
    <${Button} kind="bare" icon="cross" aria-label="Close replay" onClick=${onClose} />
    <p class="scrubber-note">The log keeps the order of events, not their times: the pace is made up.</p>
  </div>`;
}
