import { html, useRef } from '../lib/preact.js';
import { Button } from './controls.js';
import { Icon } from './icons.js';

const MAX_TEXT = 1024 * 1024;
const MAX_IMAGE = 5 * 1024 * 1024;
const TEXT_NAME = /\.(txt|md|markdown|csv|tsv|json|ya?ml|xml|html?|log|ts|tsx|js|py|rs|go|java|c|h|cpp|sql|toml|ini)$/i;

/** Files that go with a question: texts as text, pictures for models that read them. */
export function Attachments({ files, onChange, onProblem }) {
  const picker = useRef(null);
  const add = async (event) => {
    const chosen = [...event.currentTarget.files];
    event.currentTarget.value = '';
    try {
      onChange([...files, ...(await Promise.all(chosen.map(readFile)))]);
    } catch (problem) {
      onProblem(problem);
    }
  };
  return html`<div class="attachments">
    ${files.map(
      (file, at) => html`<span class="chip" key=${file.name + at}>
        <${Icon} name="clip" /><span dir="auto">${file.name}</span>
        <button type="button" aria-label=${`Remove ${file.name}`} onClick=${() => onChange(files.filter((other) => other !== file))}><${Icon} name="cross" /></button>
      </span>`,
    )}
    <input ref=${picker} type="file" multiple hidden onChange=${add} />
    <${Button} kind="link" icon="clip" onClick=${() => picker.current.click()}>Attach a text or picture<//>
  </div>`;
}

/** Content parts of the request. */
export function partsOf(files) {
  return files.map(({ name, text, image }) =>
    image ? { type: 'input_image', image_url: image } : { type: 'input_text', text: `File ${name}:\n\n${text}` },
  );
}

/** @throws Error that says what can be attached. */
async function readFile(file) {
  if (/^image\/(png|jpeg|webp|gif)$/.test(file.type)) {
    if (file.size > MAX_IMAGE) throw new Error(`${file.name} is larger than 5 MB.`);
    return { name: file.name, image: await dataUrl(file) };
  }
  if (!file.type.startsWith('text/') && !TEXT_NAME.test(file.name)) {
    throw new Error(`${file.name} is neither a text nor a picture: attach text, CSV, JSON, code, PNG or JPEG.`);
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
