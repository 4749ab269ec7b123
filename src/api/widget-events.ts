/** The live wallet: a stream of server-sent events that ends with the session. */
import { z } from 'zod'
import type { Service } from '../actions/service.ts'
import { endOf, type SessionEnd } from '../actions/people/open-session.ts'
import type { Session } from '../store/people/widget-sessions.ts'
import { plainHeaders } from '../web/headers.ts'
import { refuseFor, type Answer } from './reply.ts'
import type { Route } from './route.ts'
import { walletFigures } from './shapes.ts'
import { sessionRoute } from './widget-session-route.ts'
import { exampleIds, sessionQuery } from './widget-shapes.ts'

const expiringMs = 45_000
/** Shorter than the idle timeout of common servers and proxies. */
const pingMs = 15_000
/** How many events may be buffered for one reader; a reader that falls further behind is disconnected to bound memory. */
const maxBehind = 64

export function eventsRoute(service: Service): Route {
  return sessionRoute(service, sessionQuery, {
    method: 'GET',
    path: '/api/widget/events',
    proof: 'session',
    ignoresDevice: true,
    summary: 'Stream the changes of the wallet',
    description: [
      'Server-sent events: `wallet` {balance, available, held, sequence, isActive} at once and on each change; `expiring` {expiresAt} 45 seconds before the session',
      'expires; `expired` when it does; `ended` {code, reason} when it is revoked. The stream ends with the session.',
    ].join(' '),
    output: z.string(),
    mediaType: 'text/event-stream',
    errors: ['RATE_LIMITED'],
    example: {
      input: { session: exampleIds.sessionToken },
      output: 'event: wallet\ndata: {"balance":80.01,"available":62.01,"held":18,"sequence":2,"isActive":true}\n\n',
    },
    run: async (session) => openStream(service, session),
  })
}

function openStream(service: Service, session: Session): Response | Answer {
  const encoder = new TextEncoder()
  const timers: ReturnType<typeof setTimeout>[] = []
  let shown = ''
  let sequence = 0
  let stop: (() => void) | undefined
  let controller: ReadableStreamDefaultController<Uint8Array>

  const write = (text: string) => {
    if (!stop) return
    if ((controller.desiredSize ?? 0) < -maxBehind) return close()
    controller.enqueue(encoder.encode(text))
  }
  const send = (event: string, data: object) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  const finish = () => {
    for (const timer of timers) clearTimeout(timer)
    stop?.()
    stop = undefined
  }
  const close = () => {
    if (!stop) return
    finish()
    controller.close()
  }
  const end = ({ code, reason }: SessionEnd) => {
    if (code === 'SESSION_EXPIRED') send('expired', {})
    else send('ended', { code, reason })
    close()
  }
  const show = (current: Session) => {
    const data = {
      ...walletFigures(current.balanceMinor, current.heldMinor, service.config.currency),
      sequence: current.sequence,
      isActive: current.frozenFor === null,
    }
    const text = JSON.stringify(data)
    // A check that started before this stream opened may return an older state than the stream has sent.
    if (text === shown || data.sequence < sequence) return
    send('wallet', data)
    shown = text
    sequence = data.sequence
  }
  const onCheck = (current: Session | undefined) => {
    // The row of a session that was just live disappears only with its user's account.
    const ended = current ? endOf(current) : ({ code: 'INVALID_SESSION', reason: 'deleted' } as const)
    if (ended) end(ended)
    else show(current!)
  }

  const body = new ReadableStream<Uint8Array>({
    start: (opened) => void (controller = opened),
    cancel: finish,
  })
  stop = service.live.watch({ session, onCheck, end: close })
  if (!stop) return refuseFor(5)
  const leftMs = session.expiresAt.getTime() - session.readAt.getTime()
  // The browser reconnects a lost stream after this many milliseconds.
  write('retry: 1000\n\n')
  show(session)
  const expiresAt = session.expiresAt.toISOString()
  timers.push(setTimeout(() => send('expiring', { expiresAt }), Math.max(0, leftMs - expiringMs)))
  timers.push(setTimeout(() => end({ code: 'SESSION_EXPIRED' }), Math.max(0, leftMs)))
  timers.push(setInterval(() => write(': ping\n\n'), pingMs))
  return new Response(body, {
    headers: { ...plainHeaders, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  })
}
