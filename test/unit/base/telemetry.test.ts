import assert from 'node:assert/strict';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { GatewayError } from '../../../src/base/errors.ts';
import { activeSpan, inSpan, startSpan } from '../../../src/base/telemetry/spans.ts';
import { currentTrace, runInTrace } from '../../../src/base/telemetry/trace-context.ts';

const TRACE = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'vendor=value' };
const ROOT = { trace: undefined, contents: false };

describe('spans without an SDK', () => {
  it("keep the client's trace unchanged", async () => {
    const root = { trace: TRACE, contents: true };
    await inSpan({ name: 'above', root }, async (span) => {
      assert.equal(currentTrace(), TRACE);
      await inSpan({ name: 'below' }, async () => assert.equal(currentTrace(), TRACE));
      assert.deepEqual([span.isRecorded, span.showsContents, activeSpan()], [false, false, undefined]);
    });
    assert.equal(currentTrace(), undefined);
  });

  it('leave the surrounding trace if they are a root', () => {
    runInTrace(TRACE, () => {
      const span = startSpan({ name: 'run', root: ROOT });
      assert.equal(
        span.in(() => currentTrace()),
        undefined,
      );
    });
  });
});

describe('spans', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const ended = () => exporter.getFinishedSpans();

  before(() => trace.setGlobalTracerProvider(provider));
  beforeEach(() => exporter.reset());
  after(async () => {
    trace.disable();
    await provider.shutdown();
  });

  it('are children of the span they run in, and pass on its trace', async () => {
    await inSpan({ name: 'above', root: { trace: TRACE, contents: false } }, async () => {
      await inSpan({ name: 'below' }, async () => {});
    });
    const [below, above] = ended();
    assert.equal(below?.parentSpanContext?.spanId, above?.spanContext().spanId);
    assert.equal(above?.parentSpanContext?.spanId, '2'.repeat(16));
    assert.equal(above?.spanContext().traceState?.serialize(), TRACE.tracestate);
  });

  it('start a new trace if they are a root without one, whatever surrounds them', async () => {
    await inSpan({ name: 'other', root: { trace: TRACE, contents: true } }, async () => {
      await inSpan({ name: 'run', root: ROOT }, async (span) => assert.equal(span.showsContents, false));
    });
    const [run] = ended();
    assert.equal(run?.parentSpanContext, undefined);
    assert.notEqual(run?.spanContext().traceId, '1'.repeat(32));
  });

  it('record the code of a failure, but not its message', async () => {
    const failure = new GatewayError('upstream_error', 'The provider quoted: my secret question.');
    await assert.rejects(
      inSpan({ name: 'fails', root: ROOT }, () => Promise.reject(failure)),
      failure,
    );
    const [span] = ended();
    assert.deepEqual(span?.status, { code: SpanStatusCode.ERROR });
    assert.deepEqual([span.attributes, span.events], [{ 'error.type': 'upstream_error' }, []]);
  });

  it('cap text attributes at 16 384 characters', async () => {
    const text = 'x'.repeat(100_000);
    await inSpan({ name: 'long', root: ROOT, attributes: { text } }, async (span) => span.set({ later: text }));
    const [span] = ended();
    assert.deepEqual([String(span?.attributes.text).length, String(span?.attributes.later).length], [16_384, 16_384]);
  });

  it("stop at 1000 below a root; later work continues in the root's trace", async () => {
    await inSpan({ name: 'run', root: ROOT }, async (run) => {
      for (let n = 0; n < 1200; n++) {
        await inSpan({ name: 'step' }, async (step) => {
          if (n > 1000) assert.deepEqual([step.isRecorded, currentTrace()], [false, run.trace]);
        });
      }
    });
    assert.equal(ended().length, 1000);
  });
});
