/** The filter and the order of a list, read from the address of its page. */
import { isUuid } from '../../actions/tokens.ts'
import { maxBalanceMinor } from '../../ledger/money.ts'
import type { Listing, ListingFilter, ListingOrder } from '../../store/connection/listing.ts'
import { readAmount } from './amount-and-reason.tsx'
import { dayOf, keptOf, spanOf, type Kept } from './filters.tsx'
import type { AdminRequest } from './route.ts'

export type ReadFilter = {
  readonly filter: ListingFilter
  readonly order: ListingOrder
  readonly kept: Kept
  /** By field. A list with a problem shows no rows, because it would show others than were asked for. */
  readonly problems: Readonly<Record<string, string>>
  readonly hasFilter: boolean
}

/** The values of the field `order`, besides those by time. */
export const byAmount = { descending: 'most', ascending: 'least' } as const

/** The fields of a list's filter, by the names in the address. */
function filterNames({ amount, people, choices, equals }: Listing): string[] {
  return [
    'id',
    ...(people.length > 0 ? ['actor'] : []),
    ...(amount ? ['min', 'max'] : []),
    ...Object.keys(choices),
    ...Object.keys(equals),
  ]
}

export function readFilter(request: AdminRequest, listing: Listing): ReadFilter {
  const names = filterNames(listing)
  const kept = keptOf(request, names)
  const textOf = (name: string) => (names.includes(name) ? kept.text(name).trim() : '')
  const { currency } = request.service.config
  const problems: Record<string, string> = {}
  const amountOf = (name: string): bigint | undefined => {
    if (textOf(name) === '') return undefined
    const read = readAmount(textOf(name), currency, maxBalanceMinor)
    if ('amountMinor' in read) return read.amountMinor
    problems[name] = read.problem
    return undefined
  }
  for (const name of ['from', 'until'])
    if (kept.text(name) !== '' && !dayOf(kept.text(name))) problems[name] = 'enter a day, such as 2026-03-01'
  const isByDay = listing.time.type === 'date'
  const query = (name: string) => (isByDay && name === 'zone' ? '' : kept.text(name))
  const id = textOf('id')
  const chosen = Object.entries({ ...listing.choices, ...listing.equals }).map(
    ([name]) => [name, textOf(name)] as const,
  )
  const filter: ListingFilter = {
    id: (isUuid(id.toLowerCase()) ? id.toLowerCase() : id) || undefined,
    person: textOf('actor') || undefined,
    minMinor: amountOf('min'),
    maxMinor: amountOf('max'),
    ...spanOf({ query }),
    chosen: Object.fromEntries(chosen.filter(([, value]) => value !== '')),
  }
  const hasFilter = [...names, 'from', 'until'].some((name) => kept.text(name).trim() !== '')
  return { filter, order: orderOf(kept.text('order'), listing), kept, problems, hasFilter }
}

function orderOf(text: string, { amount }: Listing): ListingOrder {
  const isByAmount = amount !== undefined && (text === byAmount.ascending || text === byAmount.descending)
  return {
    by: isByAmount ? 'amount' : 'time',
    isAscending: text === 'oldest' || (isByAmount && text === byAmount.ascending),
  }
}
