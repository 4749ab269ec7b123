/** Links to receipts, statements, selections of entries and the user's data. The frame asks for one, and a new window opens it. */
import { z } from 'zod'
import type { AskedFilter } from '../actions/money/activity-filter.ts'
import { isTimeZone } from '../actions/money/month-in-zone.ts'
import { orderPaper, paperPath, type Paper } from '../actions/money/order-paper.ts'
import type { Service } from '../actions/service.ts'
import { chooseLanguage } from '../languages/languages.ts'
import { answer, refuse, refuseFor } from './reply.ts'
import type { Route } from './route.ts'
import { refuseUnproved } from './widget-call.ts'
import { sessionRoute } from './widget-session-route.ts'
import { filterFields, hasOrderedAmounts, hasOrderedTimes, orderedAmounts, orderedTimes } from './widget-shapes.ts'

const output = z
  .object({ path: z.string().describe('A path on this service. It works once, for two minutes, without a session') })
  .meta({ id: 'PaperLink' })

const kinds = ['receipt', 'statement', 'selection', 'data'] as const

const sequence = z.int('must be a whole number').positive('must be above 0')
const month = z
  .string('must be a month such as 2026-01')
  .regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')

export function papersRoute(service: Service): Route {
  const { currency } = service.config
  const fields = z.object({
    kind: z.enum(kinds, `must be among ${kinds.join(', ')}`),
    sequence: sequence.optional().describe('For a receipt: the sequence of its transaction'),
    month: month.optional().describe('For a statement: a month of the time zone, such as 2026-01'),
    lang: z
      .string('must be a language tag')
      .regex(/^[\w-]{1,35}$/, 'must be a language tag')
      .optional()
      .describe('The language of the page; one that the service does not have counts as none'),
    ...filterFields(currency),
    timeZone: z
      .string('must be the name of a time zone')
      .regex(/^[\w+/-]{1,60}$/, 'must be the name of a time zone')
      .optional()
      .describe('IANA name of the time zone in which the page shows times; UTC by default and for an unknown name'),
  })
  const schema = fields.refine(hasOrderedTimes, orderedTimes).refine(hasOrderedAmounts(currency), orderedAmounts)
  return sessionRoute(service, schema, {
    method: 'POST',
    path: '/api/widget/papers',
    proof: 'session',
    moreProof: {
      person: 'for a statement, a selection, and the receipt of another app’s transaction',
      presence: 'for the user’s data',
    },
    summary: 'Order a receipt, a statement, a selection of transactions or the user’s data',
    description: [
      'A selection has the transactions that the filters of the transaction history find, up to the time of the order; it searches the',
      'newest 100,000 and says so if there are more. The link ends with the session and with the device it was ordered on.',
    ].join(' '),
    output,
    errors: ['INVALID_AMOUNT', 'RATE_LIMITED'],
    example: {
      input: { kind: 'receipt', sequence: 2, lang: 'en', timeZone: 'Europe/Berlin' },
      output: { path: '/widget/papers/Zm9yIGV4YW1wbGUgcHVycG9zZXMgb25s' },
    },
    run: async (session, input, from) => {
      const paper = paperOf(input, from.lang, session.sequence + 1)
      if ('fields' in paper) return refuse('INVALID_REQUEST', paper)
      const ordered = await orderPaper(service, session, paper)
      if (ordered.kind === 'limited') return refuseFor(ordered.retryAfterSeconds)
      if (ordered.kind === 'unproved') return refuseUnproved(session, ordered.needed)!
      if (ordered.kind === 'unknown')
        return refuse('INVALID_REQUEST', { fields: { sequence: 'is not a transaction of this wallet' } })
      if (ordered.kind === 'archived')
        return refuse('INVALID_REQUEST', { fields: { sequence: 'is a transaction that is in the archive' } })
      return answer({ path: paperPath(ordered.token) })
    },
  })
}

type Asked = AskedFilter & {
  readonly kind: (typeof kinds)[number]
  readonly sequence?: number | undefined
  readonly month?: string | undefined
  readonly lang?: string | undefined
  readonly timeZone?: string | undefined
}

type Unusable = { fields: Record<string, string> }

function paperOf(asked: Asked, browserLang: string | undefined, before: number): Paper | Unusable {
  const { kind, sequence, month, timeZone = 'UTC' } = asked
  const shown = {
    lang: chooseLanguage(asked.lang, browserLang).code,
    timeZone: isTimeZone(timeZone) ? timeZone : 'UTC',
  }
  if (kind === 'data') return { ...shown, kind }
  if (kind === 'selection') {
    const filter = selectionOf(asked)
    return 'fields' in filter ? filter : { ...shown, kind, filter, before, at: new Date().toISOString() }
  }
  if (kind === 'receipt')
    return sequence === undefined ? { fields: { sequence: 'is needed for a receipt' } } : { ...shown, kind, sequence }
  return month === undefined ? { fields: { month: 'is needed for a statement' } } : { ...shown, kind, month }
}

/** Without a filter it would be all entries, which is no selection; with one end of the time range it could not name that range. */
function selectionOf(asked: Asked): AskedFilter | Unusable {
  const { direction, app, types, amount, min, max, from, until } = asked
  if ((from === undefined) !== (until === undefined))
    return { fields: { [from === undefined ? 'from' : 'until']: 'is needed with the other end of the time range' } }
  const search = asked.search?.trim() === '' ? undefined : asked.search
  if ([search, direction, app, min, max, from].every((filter) => filter === undefined))
    return { fields: { search: 'is needed for a selection, or another filter' } }
  return { direction, app, search, types, amount, min, max, from, until }
}
