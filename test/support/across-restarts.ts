import assert from 'node:assert/strict';
import type { GatewayProcess } from './gateway-process.ts';

/** One life of a gateway process, from its start to its end. */
export interface Life {
  /** Works with the gateway and resolves once it may end. */
  reach(gateway: GatewayProcess): Promise<void>;
  /** Called between two lives. A run resumes before its gateway listens, so set here what its provider says next. */
  meanwhile?(): Promise<void>;
}

/** The steps of one test, with a run or a key of its own, across restarts of a shared gateway. */
export interface Story {
  lives: readonly Life[];
  /** Makes the assertions, in one more life after the last. */
  end(gateway: GatewayProcess): Promise<void>;
}

/** The gateway that stories share. */
export interface Stage<Scene> {
  scene: Scene;
  start(): Promise<GatewayProcess>;
  /** How each life of the gateway ends. Default: it is killed. */
  ends?: readonly ('kill' | 'terminate')[];
}

/**
 * Registers tests by title whose stories share one gateway, because starting one for each would take most of the time.
 * A failing story does not affect the others.
 */
export function acrossRestarts<Scene>(
  open: (stack: AsyncDisposableStack) => Promise<Stage<Scene>>,
  tests: Readonly<Record<string, (scene: Scene) => Story>>,
): void {
  const stack = new AsyncDisposableStack();
  const stories = new Map<string, Story>();
  const failed = new Map<Story, unknown>();
  let gateway: GatewayProcess;
  const forEachStory = async (work: (story: Story) => Promise<void> | undefined) => {
    const active = [...stories.values()].filter((story) => !failed.has(story));
    await Promise.all(active.map(async (story) => await work(story)?.catch((thrown) => failed.set(story, thrown))));
  };
  before(async () => {
    const { scene, start, ends = [] } = await open(stack);
    for (const [title, createStory] of Object.entries(tests)) stories.set(title, createStory(scene));
    const lives = Math.max(...[...stories.values()].map((story) => story.lives.length));
    for (let life = 0; life < lives; life++) {
      await using current = await start();
      await forEachStory((story) => story.lives[life]?.reach(current));
      await (ends[life] === 'terminate' ? current.terminate() : current.kill());
      await forEachStory((story) => story.lives[life]?.meanwhile?.());
    }
    gateway = stack.use(await start());
  });
  after(() => stack.disposeAsync());
  for (const title of Object.keys(tests)) {
    it(title, async () => {
      const story = stories.get(title);
      assert.ok(story);
      if (failed.has(story)) throw failed.get(story);
      await story.end(gateway);
    });
  }
}
