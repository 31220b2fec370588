import { ToolError } from '../tool.ts';

export function bodyTooLarge(maxBytes: number): ToolError {
  return new ToolError('too_large', `The answer is larger than ${maxBytes} bytes.`);
}

/**
 * Limits a body: it fails with `too_large` as soon as more than `maxBytes` decompressed bytes were read. They are pulled
 * chunk by chunk, so a compression bomb costs one chunk of memory.
 */
export function limitBody(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  explain: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        size += value.byteLength;
        if (size > maxBytes) throw bodyTooLarge(maxBytes);
        controller.enqueue(value);
      } catch (error) {
        controller.error(explain(error));
        await reader.cancel(error).catch(() => {});
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
    },
  });
}
