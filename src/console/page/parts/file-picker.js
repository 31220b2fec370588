import { html, useRef, useState } from '../lib/preact.js';
import { Button } from './controls.js';

/** Handles files one after the other: `add(files)`. `waiting`: those that are not done. */
export function useFiles(work, { onProblem }) {
  const [waiting, setWaiting] = useState([]);
  const add = async (chosen) => {
    onProblem(null);
    setWaiting((before) => [...before, ...chosen]);
    for (const file of chosen) {
      await work(file).catch(onProblem);
      setWaiting((before) => before.filter((other) => other !== file));
    }
  };
  return { waiting, add };
}

/** Files in progress. `doing` says what happens to them, such as `Reading`. */
export function Waiting({ files, doing }) {
  return files.map(
    (file) =>
      html`<span class="chip" role="status" key=${file.name + file.size}>${doing} <span dir="auto">${file.name}</span>…</span>`,
  );
}

/** A button that opens the file dialog. */
export function FilePicker({ label, kind, onFiles }) {
  const picker = useRef(null);
  const chosen = ({ currentTarget: field }) => {
    const files = [...field.files];
    field.value = '';
    void onFiles(files);
  };
  return html`<input ref=${picker} type="file" multiple hidden onChange=${chosen} />
    <${Button} kind=${kind} icon="clip" onClick=${() => picker.current.click()}>${label}<//>`;
}
