/**
 * Polyfills for the built package on older versions of Node: the two disposable stacks, `RegExp.escape`, and
 * `getOrInsertComputed` of maps. Entry points of processes and threads import this first. What the runtime has is left alone.
 */

type Undo = () => unknown;

/** The base of both stacks: what to undo, last in, first out. */
class UndoStack {
  #undo: Undo[] = [];
  #disposed = false;

  get disposed(): boolean {
    return this.#disposed;
  }

  defer(undo: Undo): void {
    if (this.#disposed) throw new ReferenceError('The stack is disposed.');
    this.#undo.push(undo);
  }

  adopt<T>(value: T, undo: (value: T) => unknown): T {
    this.defer(() => undo(value));
    return value;
  }

  /** Marks the stack as disposed and returns what is left to undo, in order. */
  protected take(): Undo[] {
    this.#disposed = true;
    return this.#undo.splice(0).reverse();
  }

  protected moveTo<Other extends UndoStack>(other: Other): Other {
    for (const undo of this.take().reverse()) other.defer(undo);
    return other;
  }
}

class SyncStack extends UndoStack implements DisposableStack {
  readonly [Symbol.toStringTag] = 'DisposableStack';

  use<T extends Disposable | null | undefined>(value: T): T {
    if (value) this.defer(() => value[Symbol.dispose]());
    return value;
  }

  move(): SyncStack {
    return this.moveTo(new SyncStack());
  }

  dispose(): void {
    const errors: unknown[] = [];
    for (const undo of this.take()) {
      try {
        undo();
      } catch (error) {
        errors.push(error);
      }
    }
    throwAll(errors);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

class AsyncStack extends UndoStack implements AsyncDisposableStack {
  readonly [Symbol.toStringTag] = 'AsyncDisposableStack';

  use<T extends AsyncDisposable | Disposable | null | undefined>(value: T): T {
    if (value)
      this.defer(() => (Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose]()));
    return value;
  }

  move(): AsyncStack {
    return this.moveTo(new AsyncStack());
  }

  async disposeAsync(): Promise<void> {
    const errors: unknown[] = [];
    for (const undo of this.take()) {
      try {
        await undo();
      } catch (error) {
        errors.push(error);
      }
    }
    throwAll(errors);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

/** Throws a single error as it is; several become nested errors with the last one outermost, like `SuppressedError`. */
function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 0) return;
  throw errors.reduce((suppressed, error) => Object.assign(new Error('Disposal failed.'), { error, suppressed }));
}

/** Escapes a text so that a pattern matches it literally, outside of character classes. */
function escapePattern(text: string): string {
  return text.replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&');
}

function getOrInsertComputed<K, V>(this: Pick<Map<K, V>, 'has' | 'get' | 'set'>, key: K, make: (key: K) => V) {
  if (!this.has(key)) this.set(key, make(key));
  return this.get(key);
}

function provide(target: object, name: string, value: unknown): void {
  if (!(name in target)) Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

provide(globalThis, 'DisposableStack', SyncStack);
provide(globalThis, 'AsyncDisposableStack', AsyncStack);
provide(RegExp, 'escape', escapePattern);
for (const map of [Map, WeakMap]) provide(map.prototype, 'getOrInsertComputed', getOrInsertComputed);
