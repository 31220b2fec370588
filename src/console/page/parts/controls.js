import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { reasonInShort } from '../run/reasons.js';
import { Icon } from './icons.js';

/** A status as a word and a colour; `reason`: why a report is incomplete. */
export function Status({ status, reason = null }) {
  const name = String(status).toLowerCase();
  const about = reason === null ? '' : `: ${reasonInShort(reason)}`;
  return html`<span class="status" dir="auto" data-status=${name}>${WORDS[name] ?? name}${about}</span>`;
}

const WORDS = {
  in_progress: 'in progress',
  queued: 'waiting',
  created: 'waiting',
};

export function Button({ icon, children, kind = 'plain', ...rest }) {
  return html`<button type="button" class=${`button ${kind}`} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}
  </button>`;
}

/** A button that asks for confirmation before it does what cannot be undone. */
export function ConfirmButton({ children, question = 'Are you sure?', onConfirm, ...rest }) {
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    if (!asking) return;
    const timer = setTimeout(() => setAsking(false), 4000);
    return () => clearTimeout(timer);
  }, [asking]);
  const press = (event) => {
    // The second click of a double click is not a confirmation.
    if (event.detail > 1) return;
    setAsking(!asking);
    if (asking) onConfirm();
  };
  const label = asking ? question : rest['aria-label'];
  return html`<${Button} ...${rest} aria-label=${label} kind=${asking ? 'danger' : rest.kind} onClick=${press}>
    ${asking ? question : children}
  <//>`;
}

/** A labelled select. `options` are values, or `[value, word]`. */
export function Choice({ label, value, options, onChoose, kind = 'inline' }) {
  return html`<label class=${kind}>${label} <select value=${value} onChange=${(event) => onChoose(event.currentTarget.value)}>
    ${options.map((option) => {
      const [id, word = id] = [option].flat();
      return html`<option value=${id} key=${id}>${word}</option>`;
    })}
  </select></label>`;
}

export function DateRange({ from, to, onMove }) {
  const day = (name) => (event) => onMove({ [name]: event.currentTarget.value });
  return html`<label class="inline">From <input type="date" value=${from} max=${to} onChange=${day('from')} /></label>
    <label class="inline">To <input type="date" value=${to} min=${from} onChange=${day('to')} /></label>`;
}

/** A wide field with its label as the placeholder. */
export function WideField({ label, onText, ...rest }) {
  return html`<label class="list-search"><span class="sr">${label}</span>
    <input placeholder=${label} dir="auto" ...${rest} onInput=${(event) => onText(event.currentTarget.value)} /></label>`;
}

/** An error in the gateway's own words, with its code, field and request id. */
export function Failure({ error, onRetry }) {
  if (!error) return null;
  const { message, code, param, requestId } = error;
  return html`<div class="failure" role="alert">
    <${Icon} name="warn" />
    <div>
      <p dir="auto">${message}</p>
      <p class="detail">
        ${[code, param && `field ${param}`, requestId && `request ${requestId}`].filter(Boolean).join(' · ')}
      </p>
    </div>
    ${onRetry && html`<${Button} onClick=${onRetry}>Try again<//>`}
  </div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children && html`<p>${children}</p>`}</div>`;
}

/**
 * Tabs of the ARIA pattern: one is in the tab order, arrow keys move between them.
 * @param tabs `{id, label, count?}`.
 */
export function Tabs({ tabs, selected, onSelect, label, panel }) {
  const list = useRef(null);
  // If there is no room for all tabs, keep the selected one in the middle, also when counts get longer.
  const lengths = tabs.map(({ label: name, count = '' }) => `${name}${count}`.length).join();
  useEffect(() => {
    const tab = list.current.querySelector('[aria-selected=true]');
    if (!tab) return;
    const { offsetLeft: start, clientWidth: width } = list.current;
    list.current.scrollLeft = tab.offsetLeft - start - (width - tab.offsetWidth) / 2;
  }, [selected, lengths]);
  const onKeys = (event) => {
    // A wide window shows some panels beside the others and hides their tabs.
    const visible = [...list.current.querySelectorAll('[role=tab]')].filter((tab) => tab.offsetParent !== null);
    const at = visible.findIndex((tab) => tab.id === `tab-${selected}`);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? visible.length - 1 : step && at + step;
    if (to === undefined || !visible[to]) return;
    event.preventDefault();
    onSelect(visible[to].id.slice('tab-'.length));
    visible[to].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${onKeys}>
    ${tabs.map(
      ({ id, label: name, count }) => html`<button
        type="button"
        role="tab"
        key=${id}
        id=${`tab-${id}`}
        aria-selected=${String(id === selected)}
        aria-controls=${panel}
        tabindex=${id === selected ? 0 : -1}
        onClick=${() => onSelect(id)}
      >
        ${name}${count === undefined ? '' : html` <span class="count">${count}</span>`}
      </button>`,
    )}
  </div>`;
}

/** A menu that opens under its button: a popover, which the browser closes. `entries`: `{label, icon, onPick}`. */
export function Menu({ label, icon, entries, kind }) {
  const list = useRef(null);
  const onKeys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Tab') list.current.hidePopover();
    if (!step) return;
    event.preventDefault();
    const items = [...list.current.children];
    items.at((items.indexOf(document.activeElement) + step) % items.length)?.focus();
  };
  const pick = (onPick) => () => {
    list.current.hidePopover();
    onPick();
  };
  return html`<div class="menu" onKeyDown=${onKeys}>
    <${Button} icon=${icon} kind=${kind} aria-haspopup="menu" popovertarget="menu">${label}<//>
    <div class="menu-list" role="menu" aria-label=${label} id="menu" popover="auto" ref=${list}>
      ${entries.map(
        (
          { label: name, icon: picture, onPick },
          at,
        ) => html`<button type="button" role="menuitem" tabindex="-1" autofocus=${at === 0} key=${name} onClick=${pick(onPick)}>
          <${Icon} name=${picture} />${name}
        </button>`,
      )}
    </div>
  </div>`;
}
