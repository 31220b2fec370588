import { numberOf } from '../run/fold.js';

/**
 * Adds the citations to text copied from a report: their numbers in brackets, their sources below it.
 * @param annotations those of the whole report.
 */
export function copySelection(event, annotations) {
  const selection = getSelection();
  if (selection.isCollapsed || selection.rangeCount === 0) return;
  const copied = document.createElement('div');
  copied.append(selection.getRangeAt(0).cloneContents());
  for (const formula of copied.querySelectorAll('math')) {
    const source = formula.getAttribute('alttext');
    formula.replaceWith(formula.getAttribute('display') === 'block' ? `$$${source}$$` : `$${source}$`);
  }
  const numbers = new Set();
  for (const cites of copied.querySelectorAll('.cite')) {
    numbers.add(Number(cites.textContent));
    cites.replaceWith(`[${cites.textContent.trim()}]`);
  }
  const sources = [...new Map(annotations.map((each) => [numberOf(each), each]))].filter(([at]) => numbers.has(at));
  if (sources.length === 0) return;
  const lines = sources.sort(([a], [b]) => a - b).map(([at, { title, url }]) => `[${at}] ${title || url}. ${url}`);
  event.clipboardData.setData('text/plain', `${textOf(copied)}\n\n${lines.join('\n')}\n`);
  const list = document.createElement('p');
  list.append(...lines.flatMap((each) => [each, document.createElement('br')]));
  copied.append(list);
  event.clipboardData.setData('text/html', copied.innerHTML);
  event.preventDefault();
}

/** The text with blocks as lines: an element outside the page has no layout, so `innerText` has no line breaks. */
function textOf(copied) {
  for (const block of copied.querySelectorAll('p, li, tr, h2, h3, h4, h5, h6, pre, br')) block.append('\n');
  for (const cell of copied.querySelectorAll('td, th')) cell.append('\t');
  const lines = copied.textContent.split('\n').map((line) => line.trimEnd());
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
