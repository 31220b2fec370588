import type { ToolsConfig } from '../../config/schema.ts';
import type { Embeddings } from './search-provider.ts';

/** The source of embeddings, which the composition root connects to providers. */
export interface EmbeddingsSource {
  embed(
    request: NonNullable<ToolsConfig['web_search']['embeddings']> & { texts: readonly string[] },
    options: { signal: AbortSignal },
  ): Promise<Float32Array[]>;
  mayBeRefusal: Embeddings['mayBeRefusal'];
  observe: Embeddings['observe'];
}

/** The embeddings of the local corpus and of vector stores; undefined where none are configured. */
export function embeddingsOf(
  { embeddings: config }: ToolsConfig['web_search'],
  source: EmbeddingsSource | undefined,
): Embeddings | undefined {
  if (!config || !source) return undefined;
  const [first] = config.routes;
  return {
    model: `${first?.model} ${config.dimensions ?? ''}`.trim(),
    embed: (texts, { signal }) => source.embed({ ...config, texts }, { signal }),
    mayBeRefusal: source.mayBeRefusal,
    observe: source.observe,
  };
}
