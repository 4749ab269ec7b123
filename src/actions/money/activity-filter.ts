/** What a user searches the wallet's entries for. Pure. */
import { parseDecimal, type Currency } from '../../ledger/money.ts'

export type ActivityFilter = {
  readonly before: number | undefined
  readonly direction: 'in' | 'out' | undefined
  /** A clientId, or `service` for the service's own entries. */
  readonly app: string | undefined
  readonly search: string | undefined
  /** Types of the service's own entries whose name in the reader's language matches the search text. */
  readonly ownTypes: readonly string[]
  /** The amount that the search text is, if it is one. */
  readonly amountMinor: bigint | undefined
  /** The amount without its sign, both ends included. */
  readonly minMinor: bigint | undefined
  readonly maxMinor: bigint | undefined
  /** Entries from this instant on. */
  readonly from: Date | undefined
  /** Entries before this instant. */
  readonly until: Date | undefined
}

/** The filter as text: the API takes it so, and the link to a paper keeps it so. */
export type AskedFilter = {
  readonly direction?: 'in' | 'out' | undefined
  readonly app?: string | undefined
  readonly search?: string | undefined
  readonly types?: string | undefined
  readonly amount?: string | undefined
  readonly min?: string | undefined
  readonly max?: string | undefined
  readonly from?: string | undefined
  readonly until?: string | undefined
}

export function toFilter(asked: AskedFilter, currency: Currency, before?: number): ActivityFilter {
  const minor = (text: string | undefined) => (text === undefined ? undefined : parseDecimal(text, currency))
  return {
    direction: asked.direction,
    app: asked.app,
    search: asked.search,
    ownTypes: asked.types?.split(',') ?? [],
    amountMinor: minor(asked.amount),
    minMinor: minor(asked.min),
    maxMinor: minor(asked.max),
    from: asked.from === undefined ? undefined : new Date(asked.from),
    until: asked.until === undefined ? undefined : new Date(asked.until),
    before,
  }
}
