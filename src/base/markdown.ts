/**
 * A stranger's text inside of a Markdown document, shown as it is: nothing in it is an image, a link, HTML or code. Marks
 * that only change how text looks stay, so that it also reads well where Markdown is not rendered.
 */
export function markdownText(text: string): string {
  return text
    .replace(/[\\`[\]]/g, '\\$&')
    .replace(/&(?=#?\w{1,31};)/g, '&amp;')
    .replace(/<(?=[a-z/!?])/gi, '&lt;');
}

/** An address inside of a Markdown document: a link where it is one of the web or of the documents, else text. */
export function markdownAddress(url: string): string {
  const address = url.replace(/[\s<>\p{Cc}]/gu, (letter) => encodeURIComponent(letter));
  return /^(?:https?|corpus):\/\//i.test(url) ? `<${address}>` : markdownText(address);
}
