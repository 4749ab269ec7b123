/** A `fetch` for the SDK that records every call for the panel "What just happened" and can lose an answer on purpose. */
import type { Step } from './answers.ts'

export type Mishap = 'none' | 'lose-first-answer'

export function recordedFetch(steps: Step[], mishap: Mishap): typeof fetch {
  let isStillToLose = mishap === 'lose-first-answer'
  const send = async (input: string, init: RequestInit): Promise<Response> => {
    const step = stepOf(input, init)
    steps.push(step)
    const response = await fetch(input, init)
    const text = await response.text()
    if (isStillToLose) {
      // The service did its work, but the answer never arrives, as when a connection breaks at the worst time.
      isStillToLose = false
      step.isLost = true
      throw new Error('The answer was lost on purpose.')
    }
    step.status = response.status
    step.got = shown(parseObject(text))
    return new Response(text, { status: response.status, headers: response.headers })
  }
  return send as typeof fetch
}

function stepOf(input: string, init: RequestInit): Step {
  const { pathname, searchParams } = new URL(input)
  const sent = typeof init.body === 'string' ? parseObject(init.body) : Object.fromEntries(searchParams)
  return { call: `${init.method} ${pathname}`, sent: shown(sent), status: null, got: {}, isLost: false }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** What the page may see of a call: no secret, the first characters of ids and tokens, and the length of lists. */
function shown(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shownField(name, value)]))
}

function shownField(name: string, value: unknown): unknown {
  if (name === 'clientSecret') return '(stays in the backend)'
  if (name === 'linkCode') return '(works once)'
  if (Array.isArray(value)) return `(${value.length})`
  return typeof value === 'string' && /^(su|ws)_/.test(value) ? shortened(value) : value
}

export function shortened(id: string): string {
  return `${id.slice(0, 7)}…`
}
