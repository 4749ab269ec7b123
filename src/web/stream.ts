/** Streams an answer with back-pressure: chunks are generated only as fast as the reader takes them. */

export function streamed(chunks: AsyncIterable<string>, headers: Record<string, string>): Response {
  const encoder = new TextEncoder()
  const iterator = chunks[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: async () => void (await iterator.return?.()),
  })
  return new Response(body, { headers })
}
