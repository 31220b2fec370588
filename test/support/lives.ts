import assert from 'node:assert/strict';
import type { GatewayProcess } from './gateway-process.ts';

/** Part of a gateway's life: what is done until it may end, and before the next one starts. */
export interface Life {
  /** Resolves once the gateway may end. */
  reach(gateway: GatewayProcess): Promise<void>;
  /** After its end: a run goes on before its gateway listens, so what a provider says next is known by then. */
  meanwhile?(): Promise<void>;
}

/** What happens to something of its own, a run or a key, while its gateway ends and comes back. */
export interface Story {
  lives: readonly Life[];
  /** What is true in the life after the last. */
  end(gateway: GatewayProcess): Promise<void>;
}

/** What stories share. */
export interface Stage<Scene> {
  scene: Scene;
  start(): Promise<GatewayProcess>;
  /** How the gateway ends each of its lives. By default it is killed. */
  ends?: readonly ('kill' | 'terminate')[];
}

/**
 * Tests by title, whose stories share a gateway: starting one for each would take most of their time. A story that fails
 * leaves the others alone.
 */
export function throughLives<Scene>(
  open: (stack: AsyncDisposableStack) => Promise<Stage<Scene>>,
  tales: Readonly<Record<string, (scene: Scene) => Story>>,
): void {
  const stack = new AsyncDisposableStack();
  const stories = new Map<string, Story>();
  const failed = new Map<Story, unknown>();
  let gateway: GatewayProcess;
  const inEach = async (work: (story: Story) => Promise<void> | undefined) => {
    const going = [...stories.values()].filter((story) => !failed.has(story));
    await Promise.all(going.map(async (story) => await work(story)?.catch((thrown) => failed.set(story, thrown))));
  };
  before(async () => {
    const { scene, start, ends = [] } = await open(stack);
    for (const [title, tell] of Object.entries(tales)) stories.set(title, tell(scene));
    const lives = Math.max(...[...stories.values()].map((story) => story.lives.length));
    for (let life = 0; life < lives; life++) {
      await using ending = await start();
      await inEach((story) => story.lives[life]?.reach(ending));
      await (ends[life] === 'terminate' ? ending.terminate() : ending.kill());
      await inEach((story) => story.lives[life]?.meanwhile?.());
    }
    gateway = stack.use(await start());
  });
  after(() => stack.disposeAsync());
  for (const title of Object.keys(tales)) {
    it(title, async () => {
      const story = stories.get(title);
      assert.ok(story);
      if (failed.has(story)) throw failed.get(story);
      await story.end(gateway);
    });
  }
}
