/** A balance now, and what it will be. */
import type { Currency } from '../../ledger/money.ts'
import { Money } from './parts.tsx'

export function BeforeAfter({ before, after, currency }: { before: bigint; after: bigint; currency: Currency }) {
  return (
    <div class="before-after">
      <Side label="Balance now" minor={before} currency={currency} />
      <span aria-hidden="true">→</span>
      <Side label="Balance after" minor={after} currency={currency} />
    </div>
  )
}

function Side({ label, minor, currency }: { label: string; minor: bigint; currency: Currency }) {
  return (
    <div>
      <p class="label muted small">{label}</p>
      <p class="value">
        <Money minor={minor} currency={currency} />
      </p>
    </div>
  )
}
