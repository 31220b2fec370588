/** Downloads a file. */
export function save({ name, blob }) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The response object as a file. */
export function jsonFile(response) {
  const text = `${JSON.stringify(response, null, 2)}\n`;
  return { name: `${response.id}.json`, blob: new Blob([text], { type: 'application/json' }) };
}

/** Puts text on the clipboard, also on pages that are not served over https. */
export async function copy(text) {
  if (navigator.clipboard && isSecureContext) return await navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'sr';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser does not let this page copy. Download the report instead.');
}
