import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { reasonInShort } from '../run/reasons.js';
import { Icon } from './icons.js';

/** A status as a word and a colour; `reason`: why a report is not whole. */
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

/** A button that asks once more before it does what cannot be undone. */
export function ConfirmButton({ children, question = 'Sure?', onConfirm, ...rest }) {
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    if (!asking) return;
    const timer = setTimeout(() => setAsking(false), 4000);
    return () => clearTimeout(timer);
  }, [asking]);
  const press = (event) => {
    // The second click of a double click answers nothing.
    if (event.detail > 1) return;
    setAsking(!asking);
    if (asking) onConfirm();
  };
  const label = asking ? question : rest['aria-label'];
  return html`<${Button} ...${rest} aria-label=${label} kind=${asking ? 'danger' : rest.kind} onClick=${press}>
    ${asking ? question : children}
  <//>`;
}

/** A failure in the gateway's own words, with what helps to find it again. */
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
 * Tabs after the ARIA pattern: one is in the tab order, arrows move between them.
 * @param tabs `{id, label, count?}`.
 */
export function Tabs({ tabs, selected, onSelect, label, panel }) {
  const list = useRef(null);
  // Where there is no room for all of them, the selected one is in the middle, also when counts get longer.
  const lengths = tabs.map(({ label: name, count = '' }) => `${name}${count}`.length).join();
  useEffect(() => {
    const tab = list.current.querySelector('[aria-selected=true]');
    if (!tab) return;
    const { offsetLeft: start, clientWidth: width } = list.current;
    list.current.scrollLeft = tab.offsetLeft - start - (width - tab.offsetWidth) / 2;
  }, [selected, lengths]);
  const keys = (event) => {
    // A tab may be hidden where the window is wide enough to show its panel beside the others.
    const shown = [...list.current.querySelectorAll('[role=tab]')].filter((tab) => tab.offsetParent !== null);
    const at = shown.findIndex((tab) => tab.id === `tab-${selected}`);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? shown.length - 1 : step && at + step;
    if (to === undefined || !shown[to]) return;
    event.preventDefault();
    onSelect(shown[to].id.slice('tab-'.length));
    shown[to].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${keys}>
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

/** A menu that opens under its button. `entries`: `{label, icon, onPick}`. */
export function Menu({ label, icon, entries, kind }) {
  const [open, setOpen] = useState(false);
  const box = useRef(null);
  useEffect(() => {
    if (!open) return;
    box.current.querySelector('[role=menuitem]')?.focus();
    const away = (event) => {
      if (!box.current?.contains(event.target)) setOpen(false);
    };
    addEventListener('pointerdown', away);
    return () => removeEventListener('pointerdown', away);
  }, [open]);
  const keys = (event) => {
    const items = [...box.current.querySelectorAll('[role=menuitem]')];
    const at = items.indexOf(document.activeElement);
    if (event.key === 'Escape' && open) {
      event.stopPropagation();
      setOpen(false);
      box.current.querySelector('button').focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      items.at((at + (event.key === 'ArrowDown' ? 1 : -1)) % items.length)?.focus();
    } else if (event.key === 'Tab') setOpen(false);
  };
  return html`<div class="menu" ref=${box} onKeyDown=${keys}>
    <${Button} icon=${icon} kind=${kind} aria-haspopup="menu" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>
      ${label}
    <//>
    ${
      open &&
      html`<div class="menu-list" role="menu" aria-label=${label}>
      ${entries.map(
        ({ label: name, icon: picture, onPick }) => html`<button
          type="button"
          role="menuitem"
          tabindex="-1"
          key=${name}
          onClick=${() => {
            setOpen(false);
            box.current.querySelector('button').focus();
            onPick();
          }}
        >
          <${Icon} name=${picture} />${name}
        </button>`,
      )}
    </div>`
    }
  </div>`;
}
