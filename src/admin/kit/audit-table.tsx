/** The table of audit records, shared by every page that shows some. */
import { moneyText, type Currency } from '../../ledger/money.ts'
import type { AuditRecord } from '../../store/audit.ts'
import type { Operator } from '../../store/operators.ts'
import { Table, When, type Head } from './parts.tsx'

type AuditTableProps = {
  label: string
  records: readonly AuditRecord[]
  operators: readonly Operator[]
  currency: Currency
  time?: Head
}

export function AuditTable({ label, records, operators, currency, time = 'Time' }: AuditTableProps) {
  return (
    <Table label={label} head={[time, 'Who', 'What', 'Subject', 'From', 'Detail']}>
      {records.map((record) => (
        <tr key={record.id}>
          <td>
            <When at={record.at} />
          </td>
          <td>{actorName(operators, record.actor)}</td>
          <td>
            <code class="breaks">{record.action}</code>
          </td>
          <td class="wide">
            <Subject subject={record.subject} operators={operators} />
          </td>
          <td class="muted">{record.address}</td>
          <td class="widest">
            <Detail detail={record.detail} currency={currency} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

export function actorName(operators: readonly Operator[], text: string): string {
  const known = operators.find((operator) => `operator:${operator.id}` === text)
  if (known) return known.name
  if (text.startsWith('cli:')) return `command line, ${text.slice('cli:'.length)}`
  return (
    { cli: 'command line', system: 'the service', oidc: 'identity provider', stranger: 'not signed in' }[text] ?? text
  )
}

function Subject({ subject, operators }: { subject: string; operators: readonly Operator[] }) {
  const [kind, id = ''] = subject.split(':')
  if (kind === 'app' && id !== 'unknown') return <a href={`/admin/client-apps/${id}`}>{subject}</a>
  if (kind === 'user') return <a href={`/admin/wallets/${id}`}>user {id.slice(-12)}</a>
  if (kind === 'topup') return <a href={`/admin/topups/${id}`}>top-up {id.slice(-12)}</a>
  if (kind === 'wallet') return <a href={`/admin/wallets/${id}`}>wallet {id.slice(-12)}</a>
  return <>{actorName(operators, subject)}</>
}

/** Shows a detail with `from` and `to` field by field, "from → to"; amounts as money; any other detail unchanged. */
function Detail({ detail, currency }: { detail: Record<string, unknown>; currency: Currency }) {
  const { from, to } = detail
  const valueOf = (key: string, value: unknown) => moneyOf(key, value, currency) ?? shown(value)
  if (isRecord(from) && isRecord(to))
    return (
      <>
        {Object.keys(to).map((key) => (
          <div key={key}>
            {nameOf(key)}: <span class="muted">{valueOf(key, from[key])}</span> → {valueOf(key, to[key])}
          </div>
        ))}
      </>
    )
  const rows = Object.entries(detail).map(([key, value]) => (
    <div key={key}>
      <span class="muted">{nameOf(key)}</span> {valueOf(key, value)}
    </div>
  ))
  if (rows.length <= 3) return <>{rows}</>
  return (
    <details>
      <summary>{rows.length} values</summary>
      {rows}
    </details>
  )
}

const minorSuffix = /Minor$/

function nameOf(key: string): string {
  return key.replace(minorSuffix, '')
}

/** The amount in a field such as `amountMinor`; undefined for other fields. */
function moneyOf(key: string, value: unknown, currency: Currency): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return minorSuffix.test(key) && /^-?\d{1,30}$/.test(text) ? moneyText(BigInt(text), currency) : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(shown).join(', ')
  if (value === null || value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
