/**
 * Loaded before a gateway (`node --import`): shifts its wall clock by `CLOCK_OFFSET_MS` milliseconds, like a clock that
 * is not synchronised.
 */
const offset = Number(process.env.CLOCK_OFFSET_MS ?? 0);
const RealDate = Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (_, args: unknown[], target) =>
    Reflect.construct(RealDate, args.length === 0 ? [RealDate.now() + offset] : args, target),
  apply: () => new RealDate(RealDate.now() + offset).toString(),
  get: (real, name) => {
    const value: unknown = Reflect.get(real, name);
    if (name === 'now') return () => RealDate.now() + offset;
    return value;
  },
});
