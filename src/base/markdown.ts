/**
 * Escapes untrusted text for a Markdown document, so that nothing in it becomes an image, a link, HTML or code. Marks
 * that only change how text looks stay, so that it also reads well without rendering.
 */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\`[\]]/g, '\\$&')
    .replace(/&(?=#?\w{1,31};)/g, '&amp;')
    .replace(/<(?=[a-z/!?])/gi, '&lt;');
}

/** An address for a Markdown document: a link if its scheme is http, https or corpus, else plain text. */
export function markdownLink(url: string): string {
  const address = url.replace(/[\s<>\p{Cc}]/gu, (letter) => encodeURIComponent(letter));
  return /^(?:https?|corpus):\/\//i.test(url) ? `<${address}>` : escapeMarkdown(address);
}
