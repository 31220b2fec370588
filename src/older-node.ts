/**
 * What older Nodes lack of JavaScript, for the built package: the two stacks of `using`, `RegExp.escape`, and
 * `getOrInsertComputed` of maps. Entries import this first. Nothing is touched where the runtime has its own.
 */

type Undo = () => unknown;

/** What both stacks share: what is to be undone, the last first. */
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

  /** What is left to undo, in order; the stack is disposed from here on. */
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

/** One error as it is; of several the last one on top, as `SuppressedError` has them. */
function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 0) return;
  throw errors.reduce((suppressed, error) => Object.assign(new Error('Disposal failed.'), { error, suppressed }));
}

/** A text as a pattern that matches it alone, outside of character classes. */
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
