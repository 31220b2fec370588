/** How many turns of the event loop other work gets while `work` is done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const tick = () => {
    turns += 1;
    next = setImmediate(tick);
  };
  next = setImmediate(tick);
  await work();
  clearImmediate(next);
  return turns;
}
