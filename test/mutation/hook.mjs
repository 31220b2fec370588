import { registerHooks } from 'node:module';

/** Loads one module spoilt: `MUTANT` names its URL, the place and what stands there instead (see `run.ts`). */
const mutant = JSON.parse(process.env.MUTANT ?? '{}');

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url !== mutant.url) return loaded;
    const source = String(loaded.source);
    return { ...loaded, source: source.slice(0, mutant.start) + mutant.instead + source.slice(mutant.end) };
  },
});
