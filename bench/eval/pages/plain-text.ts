/** Markdown as the text that a reader sees: without addresses, marks and the bars of tables. */
export function plainText(markdown: string): string {
  const out: string[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    else if (isCode) out.push(line);
    else if (!/^\|( --- \|)+$/.test(line)) out.push(plainLine(line));
  }
  return out.join('\n');
}

function plainLine(line: string): string {
  const bare = line
    .replace(/^\s*(>\s?)+/, '')
    .replace(/^\s*(#{1,6} |[-*] |\d+\. )/, '')
    .replace(/!\[[^\]]*\]\((<[^>]*>|[^()\s]*(\([^()]*\)[^()\s]*)*)\)/g, '')
    .replace(/\[([^\][]*(?:\[[^\][]*\][^\][]*)*)\]\((<[^>]*>|[^()\s]*(\([^()]*\)[^()\s]*)*)\)/g, '$1')
    .replace(/\[([^\][]*)\]\[\d+\]/g, '$1');
  const isRow = bare.startsWith('| ');
  return (isRow ? bare.replaceAll('|', ' ') : bare)
    .replace(/(\*\*|__|~~|`)/g, '')
    .replace(/(^|[\s(„“"'])\*(?=\S)|(?<=\S)\*($|[\s).,;:!?“”"'])/g, '$1$2');
}
