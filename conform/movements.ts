/** The debits and credits of this run. What is undone is what the service acknowledged, never a difference between two balances. */

export type Posting = {
  readonly path: string
  readonly init: RequestInit
  readonly clientId: string
  readonly serviceUserId: string
  readonly referenceType: string | undefined
  readonly referenceId: string | undefined
  /** In thousandths, because no currency has smaller decimals in common use; negative for a debit. */
  readonly thousandths: bigint
}

/** Until an answer says what became of it, a posting may have moved money. */
type State = 'unknown' | 'moved' | 'refused'

export type Movement = { posting: Posting; state: State }

export type Movements = ReturnType<typeof newMovements>

const prefix = '/api/server/wallet/'

/**
 * The debit or credit in a request, also in a malformed one that a faulty service might accept. A capture is a debit of the wallet whose
 * holds the run makes, which it does not name.
 */
export function postingIn(path: string, init: RequestInit, holder: string): Posting | undefined {
  const [pathname = '', query = ''] = path.split('?')
  const isCapture = pathname === `${prefix}hold/capture`
  const isDebit = isCapture || pathname === `${prefix}debit`
  if (!isDebit && pathname !== `${prefix}credit`) return undefined
  const fields = { ...Object.fromEntries(new URLSearchParams(query)), ...fieldsIn(init.body) }
  const amount = Number(fields['amount'])
  // Without an amount there is nothing to undo.
  if (!Number.isFinite(amount) || amount === 0) return undefined
  const thousandths = BigInt(Math.round(amount * 1000))
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  return {
    path,
    init,
    clientId: text('clientId') ?? '',
    serviceUserId: isCapture ? holder : (text('serviceUserId') ?? ''),
    referenceType: text('referenceType'),
    referenceId: text('referenceId'),
    thousandths: isDebit ? -thousandths : thousandths,
  }
}

function fieldsIn(body: unknown): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(String(body))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

export function newMovements() {
  const all = new Map<string, Movement>()

  /** Called before the request is sent. The returned function takes the status of the answer; without an answer it is not called. */
  function begin(posting: Posting): (status: number) => void {
    const { clientId, referenceType, referenceId } = posting
    const key = isRepeatable(posting) ? JSON.stringify([clientId, referenceType, referenceId]) : crypto.randomUUID()
    const movement = all.get(key) ?? { posting, state: 'unknown' }
    all.set(key, movement)
    if (movement.state === 'refused') Object.assign(movement, { posting, state: 'unknown' })
    return (status) => {
      // A repeat of what has moved moves nothing, also if it is refused.
      if (movement.state === 'moved') return
      const state = stateAfter(status)
      if (state === 'moved') Object.assign(movement, { posting, state })
      else if (state === 'refused' && movement.posting === posting) movement.state = state
    }
  }

  const withState = (state: State) => [...all.values()].filter((movement) => movement.state === state)

  return { begin, withState }
}

/** After 408, 429, 5xx and a redirect it is open whether money moved. */
function stateAfter(status: number): State {
  if (status >= 200 && status < 300) return 'moved'
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'unknown'
}

function sumOf(movements: readonly Movement[]): bigint {
  return movements.reduce((sum, { posting }) => sum + posting.thousandths, 0n)
}

const toMajor = (thousandths: bigint) => Number(thousandths) / 1000

/** What this run left in a wallet. */
export type Left = {
  readonly clientId: string
  readonly serviceUserId: string
  /** The sum of what the service acknowledged; positive when too much is in the wallet. */
  readonly sum: number
  /** Debits (negative) and credits whose outcome the service did not say. */
  readonly unknown: readonly { readonly amount: number; readonly reference: string; readonly isRepeatable: boolean }[]
}

export function leftOf(movements: Movements): Left[] {
  const open = [...movements.withState('moved'), ...movements.withState('unknown')]
  const byWallet = Map.groupBy(open, ({ posting }) => JSON.stringify([posting.clientId, posting.serviceUserId]))
  return [...byWallet.values()]
    .map((group) => {
      const { clientId, serviceUserId } = group[0]!.posting
      const unknown = group.filter(({ state }) => state === 'unknown').map(describe)
      const sum = toMajor(sumOf(group.filter(({ state }) => state === 'moved')))
      return { clientId, serviceUserId, sum, unknown }
    })
    .filter(({ sum, unknown }) => sum !== 0 || unknown.length > 0)
}

function describe({ posting }: Movement): Left['unknown'][number] {
  const { referenceType = '(none)', referenceId = '(none)', thousandths } = posting
  const reference = `${referenceType} ${referenceId}`
  return { amount: toMajor(thousandths), reference, isRepeatable: isRepeatable(posting) }
}

/** Without a reference a repeat could move the money a second time. */
export function isRepeatable({ referenceType, referenceId }: Posting): boolean {
  return referenceType !== undefined && referenceId !== undefined
}
