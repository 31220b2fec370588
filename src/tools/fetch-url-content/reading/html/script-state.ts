/** The start of a script that assigns one global: `window.__INITIAL_STATE__ = {`. */
const STATE = /^\s*(?:window|self|globalThis)(?:\.[\w$]+|\[["'][\w$]+["']\])\s*=\s*(?=[{[])/;
const MAX_STATE_START = 200;

/** The value that a script assigns to a global; empty for any other script. */
export function stateIn(script: string): string {
  const start = STATE.exec(script.slice(0, MAX_STATE_START))?.[0].length;
  const end = Math.max(script.lastIndexOf('}'), script.lastIndexOf(']'));
  return start === undefined ? '' : script.slice(start, end + 1);
}
