import type { ToolsConfig } from '../config/schema.ts';
import type { OpenedTools, Toolbox, ToolRequest } from './toolbox.ts';

/** The toolbox of the current configuration. */
export interface LiveToolbox extends Toolbox {
  /** Switches to a new configuration; runs keep the tools that they opened. */
  update(config: ToolsConfig): void;
  /** Creates the tools before a run needs them, so that a local search starts to read its documents. @throws what `create` throws. */
  prepare(): Promise<void>;
}

interface Generation {
  readonly config: ToolsConfig;
  /** Created when the first run opens it, so that the gateway's start does not wait for the tools' code to load. */
  toolbox: Promise<Toolbox> | undefined;
  /** How many runs have tools of this generation open, or documents that are being read with them. */
  users: number;
  retired: boolean;
}

/** A toolbox that a reload replaces. The old one closes when its last run ends. */
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
  const toolboxOf = async (generation: Generation): Promise<Toolbox> => {
    generation.toolbox ??= create(generation.config);
    try {
      return await generation.toolbox;
    } catch (thrown) {
      generation.toolbox = undefined;
      throw thrown;
    }
  };

  const closeIfUnused = (generation: Generation): void => {
    if (!generation.retired || generation.users > 0 || !generations.delete(generation)) return;
    if (!generation.toolbox) return;
    const closed = generation.toolbox
      .then((toolbox) => toolbox[Symbol.asyncDispose]())
      .catch(onCloseFailed)
      .finally(() => closing.delete(closed));
    closing.add(closed);
  };

  /** Keeps a generation open until its user is disposed of. */
  const use = (generation: Generation): Disposable => {
    generation.users += 1;
    return {
      [Symbol.dispose]() {
        generation.users -= 1;
        closeIfUnused(generation);
      },
    };
  };

  return {
    prepare: async () => void (await toolboxOf(current)),
    update(next) {
      const retired = current;
      current = open(next);
      retired.retired = true;
      // A failure to create it reaches the run that waits for it.
      if (retired.toolbox) toolboxOf(current).catch(() => {});
      closeIfUnused(retired);
    },
    async read(url, options) {
      const generation = current;
      using _ = use(generation);
      return await (await toolboxOf(generation)).read(url, options);
    },
    async open(request: ToolRequest): Promise<OpenedTools> {
      const generation = current;
      await using stack = new AsyncDisposableStack();
      stack.use(use(generation));
      const { tools } = stack.use(await (await toolboxOf(generation)).open(request));
      const owned = stack.move();
      return { tools, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
    async [Symbol.asyncDispose]() {
      for (const generation of generations) {
        generation.users = 0;
        generation.retired = true;
        closeIfUnused(generation);
      }
      await Promise.all(closing);
    },
  };
}
