import { pathToFileURL } from 'node:url';
import type { PyodideAPI, PyodideConfig } from 'pyodide';

/** Loads Pyodide from its folder, without access to JavaScript globals or to the streams of the process. */
export async function loadPython(folder: string, options: PyodideConfig): Promise<PyodideAPI> {
  const pyodide: typeof import('pyodide') = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
  return await pyodide.loadPyodide({
    jsglobals: Object.create(null),
    env: { HOME: '/home/pyodide', USER: 'python' },
    stdin: () => null,
    stdout: () => {},
    stderr: () => {},
    ...options,
  });
}
