import { app } from '../app.js';
import { html } from '../lib/preact.js';
import { FilePicker, Waiting } from './file-picker.js';
import { Icon } from './icons.js';

const MAX_TEXT = 1024 * 1024;
const MAX_IMAGE = 5 * 1024 * 1024;
const TEXT_NAME = /\.(txt|md|markdown|csv|tsv|json|ya?ml|xml|html?|log|ts|tsx|js|py|rs|go|java|c|h|cpp|sql|toml|ini)$/i;

const DOCUMENT_NAME = /\.(pdf|docx?|xlsx?|pptx?|odt|ods|odp|epub|rtf)$/i;

/**
 * Files to send with a question: texts as text, pictures for models that can see them, documents as uploads.
 * `onChange` gets a function of the list; `reading`: files that are being read.
 */
export function Attachments({ files, onChange, reading, onAdd }) {
  const remove = (file) => {
    onChange((before) => before.filter((other) => other !== file));
    // No request names it yet.
    if (file.fileId) app.value.client.files.remove(file.fileId).catch(() => {});
  };
  return html`<div class="attachments">
    ${files.map(
      (file, at) => html`<span class="chip" key=${file.name + at}>
        <${Icon} name="clip" /><span dir="auto">${file.name}</span>
        <button type="button" aria-label=${`Remove ${file.name}`} onClick=${() => remove(file)}><${Icon} name="cross" /></button>
      </span>`,
    )}
    <${Waiting} files=${reading} doing="Reading" />
    <${FilePicker} kind="link" label="Attach a file" onFiles=${onAdd} />
  </div>`;
}

/** Content parts of the request. */
export function partsOf(files) {
  return files.map(({ name, text, image, fileId }) => {
    if (fileId) return { type: 'input_file', file_id: fileId };
    return image ? { type: 'input_image', image_url: image } : { type: 'input_text', text: `File ${name}:\n\n${text}` };
  });
}

/** Reads or uploads a file to attach. @throws Error that says what can be attached. */
export async function readFile(file) {
  if (/^image\/(png|jpeg|webp|gif)$/.test(file.type)) {
    if (file.size > MAX_IMAGE) throw new Error(`${file.name} is larger than 5 MB.`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    return { name: file.name, image: `data:${file.type};base64,${bytes.toBase64()}` };
  }
  if (DOCUMENT_NAME.test(file.name)) {
    const { id } = await app.value.client.upload(file);
    return { name: file.name, fileId: id };
  }
  if (!file.type.startsWith('text/') && !TEXT_NAME.test(file.name)) {
    throw new Error(`${file.name} cannot be attached: choose a document, text, CSV, JSON, code or a picture.`);
  }
  if (file.size > MAX_TEXT) throw new Error(`${file.name} is larger than 1 MB.`);
  return { name: file.name, text: await file.text() };
}
