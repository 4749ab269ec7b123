/** Components shared by all pages. */
import { cloneElement, isValidElement, toChildArray, type ComponentChildren, type VNode } from 'preact'
import { moneyText, type Currency } from '../../ledger/money.ts'
import { Icon } from './icons.tsx'
import type { PublicRequest } from './route.ts'

type Children = { children?: ComponentChildren }

export function Heading({ title, sub, children }: Children & { title: ComponentChildren; sub?: ComponentChildren }) {
  return (
    <div class="heading">
      <div>
        <h1>{title}</h1>
        {sub && <p class="muted">{sub}</p>}
      </div>
      {children && <div class="row">{children}</div>}
    </div>
  )
}

export function Notice({ kind = 'info', children }: Children & { kind?: 'info' | 'good' | 'warn' | 'bad' }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <div>{children}</div>
    </div>
  )
}

export function Badge({ kind = '', children }: Children & { kind?: '' | 'good' | 'warn' | 'bad' }) {
  return <span class={`badge ${kind}`}>{children}</span>
}

/** A form that changes something; its field `_token` is bound to the operator's session. */
export function Form({
  request,
  action,
  children,
  ...rest
}: Children & { request: PublicRequest; action: string; class?: string; 'data-file'?: boolean }) {
  return (
    <form method="post" action={action} {...rest}>
      <input type="hidden" name="_token" value={request.formToken} />
      {children}
    </form>
  )
}

type FieldProps = {
  label: string
  name: string
  /** Another one where the page has two fields of this name. */
  id?: string
  value?: string
  hint?: ComponentChildren
  problem?: string | undefined
  type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'month' | 'date'
  rows?: number
  options?: readonly (readonly [value: string, label: string])[]
  attributes?: Record<string, string | number | boolean | undefined>
}

export function Field({
  label,
  name,
  id = `field-${name}`,
  value = '',
  hint,
  problem,
  type = 'text',
  rows,
  options,
  attributes,
}: FieldProps) {
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ') || undefined
  const shared = { id, name, 'aria-describedby': described, 'aria-invalid': problem ? true : undefined, ...attributes }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options ? (
        <select {...shared}>
          {options.map(([option, text]) => (
            <option key={option} value={option} selected={option === value}>
              {text}
            </option>
          ))}
        </select>
      ) : rows ? (
        <textarea {...shared} rows={rows}>
          {value}
        </textarea>
      ) : (
        <input {...({ ...shared, type, value } as object)} />
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {sentence(problem)}
        </p>
      )}
    </div>
  )
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A time in UTC; the page's script converts it to the reader's time zone. */
export function When({
  at,
  isShort = false,
  hasZone = true,
}: {
  at: Date | null
  isShort?: boolean
  /** False in a column whose head is `localTime`. */
  hasZone?: boolean
}) {
  if (!at) return <span class="muted">never</span>
  const text = at.toISOString()
  const shown = isShort ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 19)}`
  return (
    <time dateTime={text} title={`${shown} UTC`} data-local={isShort ? undefined : hasZone ? 'yes' : 'no-zone'}>
      {isShort || !hasZone ? shown : `${shown} UTC`}
    </time>
  )
}

/** The head of a column of times without a zone. The page's script replaces the zone when it converts the times. */
export const localTime = 'Time (UTC)'

/** The UTC date, YYYY-MM-DD. */
export function dayText(at: Date | number): string {
  return new Date(at).toISOString().slice(0, 10)
}

export function countText(count: number): string {
  return count.toLocaleString('en')
}

export function ageText(at: Date, now: Date): string {
  return lengthText(now.getTime() - at.getTime())
}

export function lengthText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

export function Money({
  minor,
  currency,
  isSigned = false,
}: {
  minor: bigint
  currency: Currency
  isSigned?: boolean
}) {
  const text = moneyText(minor, currency)
  const kind = isSigned ? (minor < 0n ? ' out' : ' in') : ''
  return <span class={`amount${kind}`}>{isSigned && minor > 0n ? `+${text}` : text.replace('-', '−')}</span>
}

/** A value with a copy button. Without JavaScript the button stays hidden. */
export function Copy({ label, text, isBlock = false }: { label: string; text: string; isBlock?: boolean }) {
  return (
    <div class={isBlock ? 'copy block' : 'copy'}>
      {isBlock ? (
        <pre tabindex={0} aria-label={label}>
          <code>{text}</code>
        </pre>
      ) : (
        <code>{text}</code>
      )}
      <button type="button" class="button quiet small" data-copy={text} hidden>
        Copy<span class="visually-hidden"> {label}</span>
      </button>
    </div>
  )
}

/** The copy button of a cell, as an icon. Without JavaScript it stays hidden. */
export function CopyIcon({ label, text }: { label: string; text: string }) {
  return (
    <button type="button" class="copy-icon" data-copy={text} title="Copy" hidden>
      <Icon name="copy" />
      <span class="visually-hidden">Copy {label}</span>
    </button>
  )
}

/** Shown instead of an empty list: why it is empty, or what to do first. */
export function Empty({ title, children }: Children & { title: string }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** A column head. An array marks a column of numbers, aligned right. */
export type Head = string | [string] | Sortable

/** A head that sorts by its column: `sort` is the current order, `href` leads to the other one. */
export type Sortable = {
  readonly title: string
  readonly href: string
  readonly sort: 'ascending' | 'descending' | 'none'
  readonly isNumber?: boolean
}

type Orders = { readonly descending: string; readonly ascending: string }

/** `order` is the one in the address. The first click sorts by the first key of `orders`, the next one reverses it. */
export function sortable(
  title: string,
  orders: Orders,
  { order, hrefOf, isNumber = false }: { order: string; hrefOf: (order: string) => string; isNumber?: boolean },
): Sortable {
  const [first, other] = Object.keys(orders) as [keyof Orders, keyof Orders]
  const sort = order === orders[first] ? first : order === orders[other] ? other : 'none'
  return { title, sort, isNumber, href: hrefOf(orders[sort === first ? other : first]) }
}

const titleOf = (head: Head) => (typeof head === 'string' ? head : Array.isArray(head) ? head[0] : head.title)

type TableProps = Children & { label: string; head: readonly Head[]; class?: string }

/**
 * A table in a frame that scrolls sideways when it is too narrow. On a phone each row is a card, and `data-head` labels its cells. Roles
 * are explicit because browsers drop the implicit ones when `display` changes.
 */
export function Table({ label, head, class: kind = '', children }: TableProps) {
  return (
    <div class={`table ${kind}`.trim()} role="region" aria-label={label} tabindex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {head.map((each) => (
              <ColumnHead key={titleOf(each)} head={each} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{toChildArray(children).map((row) => withHeads(row, head))}</tbody>
      </table>
    </div>
  )
}

function ColumnHead({ head }: { head: Head }) {
  const isSortable = typeof head !== 'string' && !Array.isArray(head)
  const isNumber = Array.isArray(head) || (isSortable && head.isNumber)
  return (
    <th
      scope="col"
      role="columnheader"
      class={isNumber ? 'number' : undefined}
      aria-sort={isSortable ? head.sort : undefined}
    >
      {isSortable ? <a href={head.href}>{head.title}</a> : head === localTime ? <LocalTime /> : titleOf(head)}
    </th>
  )
}

function LocalTime() {
  return <span data-zone>{localTime}</span>
}

function withHeads(row: ReturnType<typeof toChildArray>[number], head: TableProps['head']) {
  if (!isRow(row)) return row
  const cells = toChildArray(row.props.children).map((cell, i) =>
    isValidElement(cell)
      ? cloneElement(cell as VNode<object>, { role: 'cell', 'data-head': titleOf(head[i] ?? '') })
      : cell,
  )
  return cloneElement(row, { role: 'row' }, cells)
}

function isRow(node: unknown): node is VNode<Children & { role?: string }> {
  return isValidElement(node) && node.type === 'tr'
}

/** Links to the next page. Pages continue after the last row's key, so every page costs the same. */
export function Pager({
  first,
  next,
  label = 'Next',
}: {
  first?: string | undefined
  next?: string | undefined
  label?: string
}) {
  if (!first && !next) return null
  return (
    <nav class="pager" aria-label="Pages">
      {first && (
        <a class="button quiet small" href={first}>
          Back to the start
        </a>
      )}
      {next && (
        <a class="button quiet small" href={next} rel="next">
          {label}
        </a>
      )}
    </nav>
  )
}

/** Lists count up to this many rows, then say “more than”. */
export const maxTotal = 10_000

/** The head of a list: the total, the active filters with a link that clears them, and the CSV export. */
export function ListHead({
  total,
  what,
  filters,
  clear,
  csv,
}: {
  total: number | string | undefined
  what: string
  filters: readonly (readonly [name: string, value: string])[]
  clear: string
  csv?: string | undefined
}) {
  const on = filters.filter(([, value]) => value !== '')
  const count =
    typeof total === 'number' && total > maxTotal
      ? `more than ${maxTotal.toLocaleString('en')}`
      : total?.toLocaleString('en')
  return (
    <div class="list-head">
      <p class="small">
        {count !== undefined && (
          <strong>
            {count} {what}
          </strong>
        )}
        {on.length > 0 && (
          <>
            {' '}
            <span class="muted">filtered by</span>{' '}
            {on.map(([name, value]) => (
              <>
                <Badge>
                  {name}: {value}
                </Badge>{' '}
              </>
            ))}
            <a href={clear}>Clear</a>
          </>
        )}
      </p>
      {csv && (
        <a class="button quiet small" href={csv}>
          Export as CSV
        </a>
      )}
    </div>
  )
}

/** The path with query parameters; empty ones are omitted. */
export function withQuery(path: string, parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== '') query.set(name, String(value))
  const text = query.toString()
  return text === '' ? path : `${path}?${text}`
}

export function Facts({ rows }: { rows: readonly (readonly [label: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
