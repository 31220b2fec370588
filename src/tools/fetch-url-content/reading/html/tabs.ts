import { HtmlElement, lineOf } from './tree.ts';

/** Puts the name of each tab before its panel, and its list away: in a text all panels stand below each other. */
export function nameTabPanels(parent: HtmlElement): void {
  for (const [at, child] of parent.children.entries()) {
    if (typeof child === 'string') continue;
    const tabs = isListOfTabs(child) ? tabsIn(child) : [];
    const panels = tabs.length < 2 ? [] : parent.children.slice(at + 1).flatMap(panelsIn);
    if (tabs.length < 2 || panels.length !== tabs.length) {
      nameTabPanels(child);
      continue;
    }
    for (const [place, panel] of panels.entries()) {
      const name = new HtmlElement('summary', {}, panel);
      name.children.push(lineOf(tabs[place]));
      panel.children.unshift(name);
    }
    child.children = [];
  }
}

/** By ARIA, or as MkDocs sets them. */
function isListOfTabs(element: HtmlElement): boolean {
  return element.attributes.role === 'tablist' || element.hasClass('tabbed-labels');
}

function tabsIn(list: HtmlElement): HtmlElement[] {
  return list.elements.flatMap((each) =>
    each.attributes.role === 'tab' || (each.name === 'label' && list.hasClass('tabbed-labels')) ? each : tabsIn(each),
  );
}

/** The outermost panels in what stands behind a list of tabs. */
function panelsIn(node: HtmlElement['children'][number]): HtmlElement[] {
  if (typeof node === 'string' || isListOfTabs(node)) return [];
  if (node.attributes.role === 'tabpanel' || node.hasClass('tabbed-block')) return [node];
  return node.elements.flatMap(panelsIn);
}
