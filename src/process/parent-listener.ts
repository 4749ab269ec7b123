/**
 * A listener of the parent while workers are missing. It gets no connection while a worker serves. When the last one dies before
 * its neighbour is restarted, the kernel hands new connections to the guard, which answers 503, instead of refusing them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { steerToNewest } from './listener.ts'

export type Listener = { readonly stop: (closeActiveConnections?: boolean) => Promise<void> }

type Guarded = {
  readonly port: number
  /** Listens beside the workers and answers 503. */
  readonly listen: () => Listener
  /** How many workers are missing. */
  readonly missing: () => number
  readonly serving: () => number
  /** Directs new connections to the workers that listen now. False where the kernel cannot. */
  readonly keepToWorkers: () => Promise<boolean>
  readonly spread: () => void
}

export type Guard = {
  /** A worker began or ceased to serve. */
  readonly changed: (how: 'joined' | 'left') => void
  /** Waits until no worker is missing and the guard is closed. False when that takes too long. */
  readonly pause: () => Promise<boolean>
  readonly resume: () => void
  readonly close: () => void
}

/** For connections in the queue of the guard: it answers them before it stops to listen. */
const lastAnswersMs = 50
const pauseWithinMs = 30_000

export function openGuard({ port, listen, missing, serving, keepToWorkers, spread }: Guarded): Guard {
  let server: Listener | undefined
  /** During the start and a replacement, which direct connections themselves. */
  let isPaused = true
  let last = Promise.resolve()

  const lower = async () => {
    if (!server) return
    await steerToNewest(port, serving() + 1)
    await sleep(lastAnswersMs)
    void server?.stop()
    server = undefined
  }
  const adjust = async (how: 'joined' | 'left') => {
    if (isPaused) return
    if (missing() === 0) {
      const isOpen = server !== undefined
      await lower()
      if (isOpen) spread()
    } else if (serving() === 0) server ??= listen()
    // The newest listener is the worker that joined.
    else if (server && how === 'joined') await steerToNewest(port, serving() + 1)
    else {
      // Its place among the listeners is not known any more.
      await lower()
      if ((await keepToWorkers()) && missing() > 0) server = listen()
    }
  }
  const changed = (how: 'joined' | 'left') => {
    // A failure leaves the workers as they are without a guard.
    last = last.then(() => adjust(how)).catch(() => {})
  }
  return {
    changed,
    pause: async () => {
      for (const endsAt = performance.now() + pauseWithinMs; ; await sleep(50)) {
        await last
        if (server === undefined && missing() === 0) break
        if (performance.now() > endsAt) return false
      }
      isPaused = true
      return true
    },
    resume: () => {
      isPaused = false
      if (missing() > 0) changed('left')
    },
    close: () => {
      isPaused = true
      void server?.stop(true)
      server = undefined
    },
  }
}
