/** What the page that checks files is given: it loads nothing else. */
import type { Words } from '../../languages/words.ts'
import type { Currency } from '../../ledger/money.ts'

export type OfflineData = {
  readonly lang: string
  readonly words: Words['verify']
  /** The service that made the page. */
  readonly service: string
  readonly keys: readonly string[]
  readonly currency: Currency
  readonly saveUrl: string
}
