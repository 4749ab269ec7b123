/** A proxy to the service that loses the requests of an order, or their answers, or delays a request. */
import { createServer, type IncomingMessage } from 'node:http'

/**
 * `request`: the request never arrives. `answer`: it is carried out, and the answer is lost. `late`: it arrives long after its sender
 * gave up. `slow`: it is carried out at once, and the answer is held until everything late is delivered. `page`: it is carried out, and
 * the proxy answers with its own page.
 */
export type Loss = 'request' | 'answer' | 'late' | 'slow' | 'page'

/** The SDK sends one call three times: the first attempt and two retries. */
const wholeCall = 3

export async function openLossyWay(send: (request: Request) => Promise<Response>) {
  const losses: { readonly orderId: string; readonly loss: Loss; times: number }[] = []
  const held: { readonly orderId: string; readonly deliver: () => Promise<Response> }[] = []

  const takeLoss = (body: string): { orderId: string; loss: Loss } | undefined => {
    const isAbout = (id: string) => body.includes(`"referenceId":"${id}`) || body.includes(`"holdId":"${id}"`)
    const found = losses.find(({ orderId, times }) => times > 0 && isAbout(orderId))
    if (found) found.times--
    return found
  }

  const untilDelivered = (orderId: string, response: Response) =>
    new Promise<void>((resolve) => {
      const deliver = async () => {
        resolve()
        return response
      }
      held.push({ orderId, deliver })
    })

  const server = createServer((incoming, outgoing) => {
    const answer = async () => {
      const body = await bodyOf(incoming)
      const deliver = () => send(requestOf(incoming, body))
      const { loss, orderId = '' } = takeLoss(body) ?? {}
      if (loss === 'late') held.push({ orderId, deliver })
      if (loss === 'answer') await (await deliver()).arrayBuffer()
      if (loss === 'page') {
        await (await deliver()).arrayBuffer()
        outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>')
        return
      }
      if (loss && loss !== 'slow') {
        incoming.socket.destroy()
        return
      }
      const response = await deliver()
      if (loss === 'slow') await untilDelivered(orderId, response)
      outgoing.writeHead(response.status, { 'content-type': response.headers.get('content-type') ?? 'text/plain' })
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    }
    answer().catch(() => incoming.socket.destroy())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()

  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    lose: (orderId: string, loss: Loss, times = wholeCall) => void losses.push({ orderId, loss, times }),
    /** Delivers the delayed requests, and returns the statuses of their answers. */
    deliverLate: async (orderId: string): Promise<number[]> => {
      const late = held.filter((one) => one.orderId === orderId)
      return await Promise.all(late.map(async ({ deliver }) => (await deliver()).status))
    },
    countHeld: (orderId: string) => held.filter((one) => one.orderId === orderId).length,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function requestOf({ method = 'GET', url = '/' }: IncomingMessage, body: string): Request {
  const headers = { host: 'billfold.test', 'content-type': 'application/json' }
  return new Request(`http://billfold.test${url}`, { method, headers, ...(method === 'POST' && { body }) })
}
