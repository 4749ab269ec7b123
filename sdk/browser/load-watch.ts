/** Finds out why a frame sends no message. A page learns almost nothing from the browser about a frame of another site. */

export type LoadFailure = 'BLOCKED' | 'TIMED_OUT' | 'NOT_ALLOWED'

export function watchLoad(
  iframe: HTMLIFrameElement,
  baseUrl: string,
  timeoutMs: number,
  onFailure: (code: LoadFailure) => void,
): { stop(): void } {
  const stopped = new AbortController()
  const { signal } = stopped
  let isOver = false

  function end(code?: LoadFailure): void {
    if (isOver) return
    isOver = true
    stopped.abort()
    clearTimeout(timeout)
    clearTimeout(silence)
    if (code !== undefined) onFailure(code)
  }

  async function diagnose(): Promise<void> {
    end((await isReachable(baseUrl, signal)) ? 'NOT_ALLOWED' : 'BLOCKED')
  }

  const timeout = setTimeout(() => end('TIMED_OUT'), timeoutMs)
  let silence: ReturnType<typeof setTimeout>

  // A refused frame fires `load` too. A working one posts a message soon after, so silence is diagnosed.
  iframe.addEventListener(
    'load',
    () => {
      clearTimeout(silence)
      silence = setTimeout(() => void diagnose(), timeoutMs / 3)
    },
    { signal },
  )
  document.addEventListener(
    'securitypolicyviolation',
    (event) => {
      const isFrameRule = /^(frame|child|default)-src/.test(event.effectiveDirective)
      if (isFrameRule && event.blockedURI.startsWith(new URL(baseUrl).origin)) end('BLOCKED')
    },
    { signal },
  )
  return { stop: () => end() }
}

/** A `no-cors` request hides its answer, but it rejects when there is none. */
async function isReachable(baseUrl: string, signal: AbortSignal): Promise<boolean> {
  return await fetch(`${baseUrl}/healthz`, { mode: 'no-cors', credentials: 'omit', cache: 'no-store', signal }).then(
    () => true,
    () => false,
  )
}
