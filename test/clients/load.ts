/** Imports a package that this folder installs, or a file of this folder. */
export function load(name: string): Promise<unknown> {
  return import(name);
}
