import { app } from '../app.js';
import { html, useRef } from '../lib/preact.js';
import { Button } from './controls.js';
import { Icon } from './icons.js';

const MAX_TEXT = 1024 * 1024;
const MAX_IMAGE = 5 * 1024 * 1024;
const TEXT_NAME = /\.(txt|md|markdown|csv|tsv|json|ya?ml|xml|html?|log|ts|tsx|js|py|rs|go|java|c|h|cpp|sql|toml|ini)$/i;

const DOCUMENT_NAME = /\.(pdf|docx?|xlsx?|pptx?|odt|ods|odp|epub|rtf)$/i;

/** Files that go with a question: texts as text, pictures for models that read them, documents as the gateway's files. */
export function Attachments({ files, onChange, onProblem, reading, onReading: setReading }) {
  const picker = useRef(null);
  // Others may have been added or removed while one was read.
  const latest = useRef(files);
  latest.current = files;
  const set = (next) => {
    latest.current = next;
    onChange(next);
  };
  const add = async (event) => {
    const chosen = [...event.currentTarget.files];
    event.currentTarget.value = '';
    onProblem(null);
    setReading((before) => [...before, ...chosen]);
    for (const file of chosen) {
      try {
        const read = await readFile(file);
        set([...latest.current, read]);
      } catch (problem) {
        onProblem(problem);
      }
      setReading((before) => before.filter((other) => other !== file));
    }
  };
  const remove = (file) => {
    set(latest.current.filter((other) => other !== file));
    // Nobody else knows of it.
    if (file.fileId) app.value.client.removeFile(file.fileId).catch(() => {});
  };
  return html`<div class="attachments">
    ${files.map(
      (file, at) => html`<span class="chip" key=${file.name + at}>
        <${Icon} name="clip" /><span dir="auto">${file.name}</span>
        <button type="button" aria-label=${`Remove ${file.name}`} onClick=${() => remove(file)}><${Icon} name="cross" /></button>
      </span>`,
    )}
    ${reading.map((file) => html`<span class="chip" role="status" key=${file.name + file.size}><span dir="auto">${file.name}</span> is being read…</span>`)}
    <input ref=${picker} type="file" multiple hidden onChange=${add} />
    <${Button} kind="link" icon="clip" onClick=${() => picker.current.click()}>Attach a file<//>
  </div>`;
}

/** Content parts of the request. */
export function partsOf(files) {
  return files.map(({ name, text, image, fileId }) => {
    if (fileId) return { type: 'input_file', file_id: fileId };
    return image ? { type: 'input_image', image_url: image } : { type: 'input_text', text: `File ${name}:\n\n${text}` };
  });
}

/** @throws Error that says what can be attached. */
async function readFile(file) {
  if (/^image\/(png|jpeg|webp|gif)$/.test(file.type)) {
    if (file.size > MAX_IMAGE) throw new Error(`${file.name} is larger than 5 MB.`);
    return { name: file.name, image: await dataUrl(file) };
  }
  if (DOCUMENT_NAME.test(file.name)) {
    const { id } = await app.value.client.upload(file);
    return { name: file.name, fileId: id };
  }
  if (!file.type.startsWith('text/') && !TEXT_NAME.test(file.name)) {
    throw new Error(`${file.name} is no kind that can be read: attach a document, text, CSV, JSON, code, PNG or JPEG.`);
  }
  if (file.size > MAX_TEXT) throw new Error(`${file.name} is larger than 1 MB.`);
  return { name: file.name, text: await file.text() };
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
