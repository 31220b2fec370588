import { app } from '../app.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Button, Empty, Failure } from '../parts/controls.js';
import { useAttempt } from '../parts/request-hooks.js';
import { KeyEntry } from './key-entry.js';
import { KeyForm } from './key-form.js';
import { Secret } from './secret.js';

const PAGE_SIZE = 100;

/** The keys of the file, and of the store, which can be changed. */
export function Keys() {
  const { client } = app.value;
  /** `after`: the last key of the store that was read. Keys made since are listed after it. */
  const [list, setList] = useState({ keys: undefined, hasMore: false, after: undefined });
  const { attempt, error } = useAttempt();
  const [making, setMaking] = useState(false);
  /** `{id, secret}`: shown until the user confirms that it is saved. */
  const [secret, setSecret] = useState(null);
  const [open, setOpen] = useState(null);
  const heading = useRef(null);
  const read = () =>
    attempt(async () => {
      const { after } = list;
      const { data, has_more: hasMore } = await client.keys.list({ limit: PAGE_SIZE, after });
      const read = new Set(data.map(({ id }) => id));
      const last = data.findLast(({ source }) => source === 'store')?.id ?? after;
      // Keys may have been made, changed or revoked meanwhile.
      setList(({ keys = [] }) => ({
        keys: [...keys.filter(({ id }) => !read.has(id)), ...data],
        hasMore,
        after: last,
      }));
    });
  useEffect(() => void read(), []);
  const { keys, hasMore } = list;
  const replace = (changed) =>
    setList((before) => ({ ...before, keys: before.keys.map((key) => (key.id === changed.id ? changed : key)) }));
  const create = async (body) => {
    const { secret, ...key } = await client.keys.create(body);
    setMaking(false);
    setSecret({ id: key.id, secret });
    setList((before) => ({ ...before, keys: [...(before.keys ?? []).filter(({ id }) => id !== key.id), key] }));
  };
  const rotate = async (id, overlap) => {
    const { secret, ...key } = await client.keys.act(id, 'rotate', { overlap_seconds: overlap });
    setSecret({ id, secret });
    replace(key);
  };
  const revoke = async (id) => {
    await client.keys.remove(id);
    setList((before) => ({ ...before, keys: before.keys.filter((key) => key.id !== id) }));
    heading.current.focus();
  };
  return html`<div class="list-head"><h2 tabindex="-1" ref=${heading}>Keys</h2>
      ${!making && html`<${Button} icon="ask" onClick=${() => setMaking(true)}>New key<//>`}</div>
    ${secret && html`<${Secret} key=${secret.secret} ...${secret} onSaved=${() => setSecret(null)} />`}
    ${making && html`<${KeyForm} onSubmit=${create} onCancel=${() => setMaking(false)} />`}
    <${Failure} error=${error} onRetry=${read} />
    ${keys?.length === 0 && html`<${Empty} title="No keys" />`}
    ${
      keys?.length > 0 &&
      html`<ul class="entries">${keys.map(
        (key) => html`<${KeyEntry}
          key=${key.id}
          of=${key}
          open=${open === key.id}
          onToggle=${() => setOpen(open === key.id ? null : key.id)}
          onChanged=${replace}
          onRotate=${rotate}
          onRevoke=${revoke}
        />`,
      )}</ul>`
    }
    ${hasMore && html`<p class="more"><${Button} onClick=${read}>Load more<//></p>`}`;
}
