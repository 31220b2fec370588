import { ClaimChecker } from '../../src/research/claims/claim-checker.ts';
import { type Source, SourceRegistry } from '../../src/research/run/sources.ts';

/** The checker of the claims of a run that read one page with this text, and its source. */
export async function claimsOf(content: string): Promise<{ claims: ClaimChecker; sources: Source[] }> {
  const [source] = new SourceRegistry().add([{ url: 'https://a.example/', title: 'A', snippet: '', kind: 'read' }]);
  if (!source) throw new Error('No source');
  const result = JSON.stringify({ source_id: source.id, content });
  const entry = { t: 'result' as const, call: 0, status: 'completed' as const, result, sources: [source], queries: 0 };
  return { claims: await ClaimChecker.of({ results: new Map([[0, entry]]), calls: new Map() }), sources: [source] };
}
