import type { ToolsConfig } from '../config/schema.ts';
import type { OpenedTools, Toolbox, ToolRequest } from './toolbox.ts';

/** The toolbox of the configuration in force. */
export interface LiveToolbox extends Toolbox {
  /** Takes over a new configuration; runs keep the tools that they opened. */
  update(config: ToolsConfig): void;
  /** Makes the tools before the first run asks for them: a search begins to read its documents. @throws what it fails with. */
  prepare(): Promise<void>;
}

interface Generation {
  readonly config: ToolsConfig;
  /** Made for the first run that opens it: a start does not wait for the code of the tools. */
  toolbox: Promise<Toolbox> | undefined;
  /** Runs that hold tools of it. */
  users: number;
  retired: boolean;
}

/** A toolbox that a reload replaces: the old one is closed when the last run has left it. */
export function createLiveToolbox(
  config: ToolsConfig,
  options: { create(config: ToolsConfig): Promise<Toolbox>; onCloseFailed(cause: unknown): void },
): LiveToolbox {
  const { create, onCloseFailed } = options;
  const generations = new Set<Generation>();
  const closing = new Set<Promise<void>>();
  const open = (next: ToolsConfig): Generation => {
    const generation: Generation = { config: next, toolbox: undefined, users: 0, retired: false };
    generations.add(generation);
    return generation;
  };
  let current = open(config);
  const made = async (generation: Generation): Promise<Toolbox> => {
    generation.toolbox ??= create(generation.config);
    try {
      return await generation.toolbox;
    } catch (thrown) {
      generation.toolbox = undefined;
      throw thrown;
    }
  };

  const closeIfLeft = (generation: Generation): void => {
    if (!generation.retired || generation.users > 0 || !generations.delete(generation)) return;
    if (!generation.toolbox) return;
    const closed = generation.toolbox
      .then((toolbox) => toolbox[Symbol.asyncDispose]())
      .catch(onCloseFailed)
      .finally(() => closing.delete(closed));
    closing.add(closed);
  };

  return {
    prepare: async () => void (await made(current)),
    update(next) {
      const retired = current;
      current = open(next);
      retired.retired = true;
      // The run that needs it gets the failure.
      if (retired.toolbox) made(current).catch(() => {});
      closeIfLeft(retired);
    },
    async read(url, options) {
      return await (await made(current)).read(url, options);
    },
    async open(request: ToolRequest): Promise<OpenedTools> {
      const generation = current;
      generation.users += 1;
      await using held = new AsyncDisposableStack();
      held.defer(() => {
        generation.users -= 1;
        closeIfLeft(generation);
      });
      const { tools } = held.use(await (await made(generation)).open(request));
      const owned = held.move();
      return { tools, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
    async [Symbol.asyncDispose]() {
      for (const generation of generations) {
        generation.users = 0;
        generation.retired = true;
        closeIfLeft(generation);
      }
      await Promise.all(closing);
    },
  };
}
