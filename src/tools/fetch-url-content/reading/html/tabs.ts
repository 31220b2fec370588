import { HtmlElement, type HtmlNode, lineOf } from './tree.ts';

/** Puts the name of each tab before its panel, and its list away: in a text all panels stand below each other. */
export function nameTabPanels(parent: HtmlElement): void {
  for (const [at, child] of parent.children.entries()) {
    if (typeof child === 'string') continue;
    const tabs = isListOfTabs(child) ? tabsIn(child) : [];
    const panels = tabs.length < 2 ? [] : panelsBehind(parent.children, at, tabs.length);
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

/** How deep in what stands behind a list of tabs a panel may lie. */
const MAX_DEPTH = 3;

/** The outermost panels between a list of tabs and the next one, and whatever comes once there are enough. */
function panelsBehind(siblings: readonly HtmlNode[], list: number, wanted: number): HtmlElement[] {
  const panels: HtmlElement[] = [];
  for (let at = list + 1; at < siblings.length && panels.length <= wanted; at++) {
    const node = siblings[at];
    if (typeof node !== 'object') continue;
    if (isListOfTabs(node)) break;
    panels.push(...panelsIn(node, 0));
  }
  return panels;
}

function panelsIn(element: HtmlElement, depth: number): HtmlElement[] {
  if (element.attributes.role === 'tabpanel' || element.hasClass('tabbed-block')) return [element];
  return depth === MAX_DEPTH ? [] : element.elements.flatMap((each) => panelsIn(each, depth + 1));
}
