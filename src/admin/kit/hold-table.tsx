/** The table of holds, shared by every page that lists some. */
import { remainingOf, viewHold, type HoldStatus, type HoldView } from '../../ledger/hold.ts'
import type { Currency } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import { lateAfterSeconds } from '../../store/books/hold-lists.ts'
import { holdIdOf } from '../../store/outcomes.ts'
import type { Person } from '../../store/people/user-search.ts'
import type { SeenHold } from '../../store/writer/stored-holds.ts'
import { Badge, Money, Table, When } from './parts.tsx'
import { Owner } from './topup-table.tsx'

export function isLateHold({ hold, at }: SeenHold): boolean {
  return hold.closedAt === null && at.getTime() - hold.expiresAt.getTime() > lateAfterSeconds * 1_000
}

const statusKinds: Readonly<Record<HoldStatus, '' | 'good'>> = { OPEN: 'good', CAPTURED: '', VOIDED: '', EXPIRED: '' }

export function HoldBadges({ seen }: { seen: SeenHold }) {
  const { status } = viewHold(seen.hold, seen.at)
  return (
    <>
      <Badge kind={statusKinds[status]}>{status.toLowerCase()}</Badge>{' '}
      {isLateHold(seen) && <Badge kind="bad">not closed</Badge>}
    </>
  )
}

export function holdPath({ id }: Pick<HoldView, 'id'>): string {
  return `/admin/holds/${holdIdOf(id)}`
}

type Props = {
  label: string
  holds: readonly SeenHold[]
  apps: readonly App[]
  currency: Currency
  /** Adds a column with the user. */
  owners?: ReadonlyMap<string, Person>
  /** Adds a link to the form that voids it. */
  mayVoid?: boolean
}

export function HoldTable({ label, holds, apps, currency, owners, mayVoid = false }: Props) {
  const head = ['App', 'Reference', 'State', ['Amount'], ['Captured'], ['Remaining'], 'Until'] as const
  return (
    <Table
      label={label}
      head={[
        ...head.map((each) => (typeof each === 'string' ? each : ([each[0]] as [string]))),
        ...(owners ? ['User'] : []),
        ...(mayVoid ? [''] : []),
      ]}
    >
      {holds.map((seen) => {
        const hold = viewHold(seen.hold, seen.at)
        return (
          <tr key={hold.id}>
            <td class="wide">
              <AppLink apps={apps} clientId={hold.clientId} />
            </td>
            <td class="wide">
              <a href={holdPath(hold)} title={hold.referenceType}>
                {hold.referenceId}
              </a>
            </td>
            <td>
              <HoldBadges seen={seen} />
            </td>
            <td class="number">
              <Money minor={hold.amountMinor} currency={currency} />
            </td>
            <td class="number">
              <Money minor={hold.capturedMinor + hold.extraMinor} currency={currency} />
            </td>
            <td class="number">
              <Money minor={remainingOf(hold)} currency={currency} />
            </td>
            <td>
              <When at={hold.closedAt ?? hold.expiresAt} />
            </td>
            {owners && (
              <td>
                <Owner owners={owners} id={hold.walletId} />
              </td>
            )}
            {mayVoid && (
              <td>
                {hold.status === 'OPEN' && (
                  <a href={`${holdPath(hold)}#void`}>
                    Void…<span class="visually-hidden"> the hold {hold.referenceId}</span>
                  </a>
                )}
              </td>
            )}
          </tr>
        )
      })}
    </Table>
  )
}

/** The way from the entry of a capture to its hold. */
export function HoldMark({ holdId }: { holdId: string | undefined }) {
  if (holdId === undefined) return null
  return (
    <>
      <a href={holdPath({ id: holdId })}>captured from a hold</a>{' '}
    </>
  )
}

export function AppLink({ apps, clientId }: { apps: readonly App[]; clientId: string }) {
  const name = apps.find((app) => app.clientId === clientId)?.name ?? clientId
  return <a href={`/admin/client-apps/${clientId}`}>{name}</a>
}
