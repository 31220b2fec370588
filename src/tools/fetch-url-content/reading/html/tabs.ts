import { HtmlElement, type HtmlNode, lineOf } from './tree.ts';

/** Moves the name of each tab from the list of tabs into its panel, because a text shows all panels below each other. */
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

/** Recognises tabs by ARIA and as MkDocs writes them. */
function isListOfTabs(element: HtmlElement): boolean {
  return element.attributes.role === 'tablist' || element.hasClass('tabbed-labels');
}

function tabsIn(list: HtmlElement): HtmlElement[] {
  return list.elements.flatMap((node) =>
    node.attributes.role === 'tab' || (node.name === 'label' && list.hasClass('tabbed-labels')) ? node : tabsIn(node),
  );
}

/** How deep a panel may be nested in a sibling of its list of tabs. */
const MAX_DEPTH = 3;

/** The outermost panels between a list of tabs and the next one; at most those of one element more than `wanted`. */
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
