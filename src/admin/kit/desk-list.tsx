/**
 * A list of what people wrote: filter, sort, search by id and CSV export. A list is a declaration; this file makes its page and its
 * file, in one way for all of them.
 */
import type { ComponentChildren } from 'preact'
import { recordAudit } from '../../actions/audit.ts'
import type { Currency } from '../../ledger/money.ts'
import type { App } from '../../store/apps.ts'
import { countListing, maxRead, parseListingCursor, readListing, type Listing } from '../../store/connection/listing.ts'
import { listOperators, type Operator } from '../../store/operators.ts'
import { listPeople, type Person } from '../../store/people/user-search.ts'
import { csvLine, csvPages, download, type Cell } from '../../web/csv.ts'
import { actorName } from './audit-table.tsx'
import { byTime, dayBadges, DayFields, OrderAndApply, PersonField } from './filters.tsx'
import { byAmount, readFilter, type ReadFilter } from './list-filter.ts'
import {
  countText,
  dayText,
  Empty,
  Field,
  Heading,
  ListHead,
  maxTotal,
  Pager,
  sortable,
  Table,
  type Head,
} from './parts.tsx'
import { showPage, showProblem } from './respond.tsx'
import { get, type AdminRequest, type AdminRoute } from './route.ts'
import type { NavName } from './shell.tsx'
import { nameOf } from './states.tsx'

/** What rows refer to by id. */
export type Names = {
  readonly request: AdminRequest
  readonly currency: Currency
  readonly operators: readonly Operator[]
  readonly apps: readonly App[]
  /** The users of the shown rows. */
  readonly people: readonly Person[]
}

export type ListColumn<Row> = {
  readonly head: string
  readonly class?: string
  /** The column shows what the list is sorted by. */
  readonly sort?: 'time' | 'amount'
  readonly cell: (row: Row, names: Names) => ComponentChildren
}

type Declared<Row extends object> = {
  readonly path: string
  /** Of the file, and of the audit record of an export. */
  readonly name: string
  readonly here: NavName
  readonly title: string
  readonly sub: string
  readonly what: readonly [one: string, many: string]
  /** What to do when nothing was written yet. */
  readonly empty: string
  readonly idLabel: string
  /** The labels of the filters in `choices` and `equals`. One of `equals` without options is set by links from other pages. */
  readonly labels: Readonly<Record<string, string>>
  readonly optionsOf?: (name: string, names: Names) => readonly (readonly [value: string, label: string])[] | undefined
  readonly listing: Listing
  readonly userOf?: (row: Row) => string
  /** Completes the rows of a page. */
  readonly complete?: (request: AdminRequest, rows: readonly Row[]) => Promise<readonly Row[]>
  readonly columns: readonly ListColumn<Row>[]
  readonly csv: Readonly<Record<string, (row: Row, names: Names) => Cell>>
  readonly csvPageSize?: number
  /** Links beside the title. */
  readonly links?: readonly (readonly [label: string, href: string])[]
  /** Shown above the whole list, not above a part of it. */
  readonly above?: (request: AdminRequest) => Promise<ComponentChildren>
}

export type DeskList = {
  readonly table: string
  readonly path: string
  /** The filters that links from other pages set. */
  readonly equals: readonly string[]
  readonly routes: readonly AdminRoute[]
}

const pageSize = 50

export function deskList<Row extends object>(list: Declared<Row>): DeskList {
  const { path, listing } = list
  return {
    table: listing.table,
    path,
    equals: Object.keys(listing.equals),
    routes: [
      get(path, (request) => showList(list, request)),
      get(`${path}.csv`, (request) => exportList(list, request)),
    ],
  }
}

/** The name of a user in a list; the id of one who is not among the people. */
export function userName({ people }: Pick<Names, 'people'>, id: string): string {
  const person = people.find((each) => each.id === id)
  return person ? nameOf(person) : id
}

async function readNames<Row extends object>(
  list: Declared<Row>,
  request: AdminRequest,
  rows: readonly Row[],
): Promise<Names> {
  const { service } = request
  const { userOf } = list
  const db = service.db.pool
  const [operators, apps, people] = await Promise.all([
    listOperators(db),
    service.apps.list(),
    userOf ? listPeople(db, [...new Set(rows.map(userOf))]) : [],
  ])
  return { request, currency: service.config.currency, operators, apps, people }
}

async function readRows<Row extends object>(
  list: Declared<Row>,
  request: AdminRequest,
  { filter, order }: ReadFilter,
  page: { after: readonly string[] | undefined; limit: number },
) {
  const found = await readListing<Row>(request.service.db.pool, list.listing, filter, { order, ...page })
  return { ...found, rows: list.complete ? await list.complete(request, found.rows) : found.rows }
}

function readCursor({ listing }: { listing: Listing }, request: AdminRequest, { order }: ReadFilter) {
  try {
    const given: unknown = JSON.parse(request.query('after'))
    const texts = Array.isArray(given) ? given.filter((text): text is string => typeof text === 'string') : []
    return parseListingCursor(listing, order, texts)
  } catch {
    return undefined
  }
}

async function showList<Row extends object>(list: Declared<Row>, request: AdminRequest): Promise<Response> {
  const { path, title, what } = list
  const read = readFilter(request, list.listing)
  const { filter, kept, problems, hasFilter } = read
  const isWrong = Object.keys(problems).length > 0
  const after = readCursor(list, request, read)
  const [found, total] = isWrong
    ? [{ rows: [], next: undefined, isCutShort: false }, undefined]
    : await Promise.all([
        readRows(list, request, read, { after, limit: pageSize }),
        countListing(request.service.db.pool, list.listing, filter, maxTotal + 1),
      ])
  const [names, above] = await Promise.all([
    readNames(list, request, found.rows),
    hasFilter || after ? undefined : list.above?.(request),
  ])
  const sorting = { order: kept.text('order'), hrefOf: (order: string) => kept.hrefOf(path, { order }) }
  const body = (
    <>
      <Heading title={title} sub={list.sub}>
        {list.links?.map(([label, href]) => (
          <a key={href} class="button quiet small" href={href}>
            {label}
          </a>
        ))}
      </Heading>
      {above}
      <section class="card flush">
        <Filter list={list} read={read} names={names} />
        <ListHead
          total={total && (total.isAll ? total.count : `at least ${countText(total.count)}`)}
          what={what[total?.count === 1 ? 0 : 1]}
          filters={badgesOf(list, read, names)}
          clear={path}
          csv={isWrong ? undefined : kept.hrefOf(`${path}.csv`)}
        />
        {found.rows.length === 0 ? (
          <Nothing list={list} read={read} isCutShort={found.isCutShort} />
        ) : (
          <ListTable label={title} columns={list.columns} rows={found.rows} names={names} order={sorting} />
        )}
        <Pager
          first={after && kept.hrefOf(path)}
          next={found.next && kept.hrefOf(path, { after: JSON.stringify(found.next) })}
          label={found.isCutShort ? 'Search further' : 'Next'}
        />
      </section>
    </>
  )
  return await showPage(request, { title, here: list.here, body, ...(isWrong && { status: 422 }) })
}

type PartProps<Row extends object> = { list: Declared<Row>; read: ReadFilter; names: Names }

const optionsOf = <Row extends object>(list: Declared<Row>, name: string, names: Names) =>
  list.listing.choices[name]
    ? Object.keys(list.listing.choices[name]).map((choice) => [choice, choice] as const)
    : list.optionsOf?.(name, names)

function Filter<Row extends object>({ list, read: { kept, problems }, names }: PartProps<Row>) {
  const { listing, labels } = list
  const amount = (name: string, label: string) => (
    <Field
      label={label}
      name={name}
      value={kept.text(name)}
      problem={problems[name]}
      attributes={{ inputmode: 'decimal', maxlength: 64, size: 10, autocomplete: 'off' }}
    />
  )
  return (
    <form class="row bottom filters" method="get" action={list.path} data-auto>
      <div class="stretch">
        <Field
          label={list.idLabel}
          name="id"
          type="search"
          value={kept.text('id')}
          attributes={{ autocomplete: 'off', maxlength: 400 }}
        />
      </div>
      {Object.keys({ ...listing.choices, ...listing.equals }).map((name) => {
        const options = optionsOf(list, name, names)
        if (!options) return kept.text(name) && <input type="hidden" name={name} value={kept.text(name)} />
        const all = [['', 'Any'] as const, ...options]
        return <Field key={name} label={labels[name] ?? name} name={name} value={kept.text(name)} options={all} />
      })}
      {listing.people.length > 0 && <PersonField {...kept} operators={names.operators} />}
      {listing.amount && amount('min', `Amount from (${names.currency.code})`)}
      {listing.amount && amount('max', 'Amount to')}
      <DayFields text={kept.text} problems={problems} isUtc={listing.time.type === 'date'} />
      <OrderAndApply
        text={kept.text}
        more={
          listing.amount && [
            [byAmount.descending, 'Largest amount first'],
            [byAmount.ascending, 'Smallest amount first'],
          ]
        }
      />
    </form>
  )
}

function badgesOf<Row extends object>(
  list: Declared<Row>,
  { kept: { text } }: ReadFilter,
  names: Names,
): (readonly [string, string])[] {
  const { choices, equals, people, amount, time } = list.listing
  const chosen = Object.keys({ ...choices, ...equals }).map((name) => {
    const label = optionsOf(list, name, names)?.find(([value]) => value === text(name))?.[1]
    return [(list.labels[name] ?? name).toLowerCase(), label ?? text(name)] as const
  })
  const inUtc = (name: string) => (name === 'zone' ? '' : text(name))
  return [
    [list.idLabel.toLowerCase(), text('id')],
    ...chosen,
    ...(people.length > 0 ? [['who', text('actor') && actorName(names.operators, text('actor'))] as const] : []),
    ...(amount
      ? ([
          ['amount from', text('min')],
          ['amount to', text('max')],
        ] as const)
      : []),
    ...dayBadges({ text: time.type === 'date' ? inUtc : text }),
  ]
}

type ListTableProps<Row> = {
  label: string
  columns: readonly ListColumn<Row>[]
  rows: readonly Row[]
  names: Names
  /** Absent where the list is not sorted by its column heads. */
  order?: { readonly order: string; readonly hrefOf: (order: string) => string }
}

export function ListTable<Row>({ label, columns, rows, names, order }: ListTableProps<Row>) {
  const head = columns.map(({ head: title, sort, class: kind }): Head => {
    const isNumber = kind === 'number'
    if (!sort || !order) return isNumber ? [title] : title
    return sortable(title, sort === 'time' ? byTime : byAmount, { ...order, isNumber })
  })
  return (
    <Table label={label} head={head}>
      {rows.map((row, i) => (
        <tr key={i}>
          {columns.map((column) => (
            <td key={column.head} class={column.class}>
              {column.cell(row, names)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

type NothingProps<Row extends object> = { list: Declared<Row>; read: ReadFilter; isCutShort: boolean }

function Nothing<Row extends object>({ list, read: { hasFilter, problems }, isCutShort }: NothingProps<Row>) {
  const [one, many] = list.what
  if (!hasFilter)
    return (
      <Empty title={`No ${many} yet`}>
        <p>{list.empty}</p>
      </Empty>
    )
  const [title, text] =
    Object.keys(problems).length > 0
      ? ['The filter is not valid', 'Correct the marked field to see the list.']
      : isCutShort
        ? ['No matches here', `None of the ${countText(maxRead)} ${many} searched match the filter. Others may.`]
        : ['No matches', `No ${one} matches the filter.`]
  return (
    <Empty title={title}>
      <p>{text}</p>
      <a class="button quiet" href={list.path}>
        Clear the filter
      </a>
    </Empty>
  )
}

async function exportList<Row extends object>(list: Declared<Row>, request: AdminRequest): Promise<Response> {
  const { service, actor } = request
  const { name, path, csv, csvPageSize = 1_000 } = list
  const read = readFilter(request, list.listing)
  const wrong = Object.entries(read.problems)
  const wayOn = { href: read.kept.hrefOf(path), text: 'Back to the list' }
  if (wrong.length > 0) {
    const text = wrong.map(([field, problem]) => `${field}: ${problem}`).join('; ')
    return await showProblem(request, 422, `Nothing was exported. ${text}.`, {}, wayOn)
  }
  await recordAudit(service.db.pool, actor, `${name}.exported`, name, read.kept.given())
  type Page = { readonly next: readonly string[] | undefined; readonly lines: readonly string[] }
  const readPage = async (before: Page | undefined): Promise<Page | undefined> => {
    if (before && !before.next) return undefined
    const { rows, next } = await readRows(list, request, read, { after: before?.next, limit: csvPageSize })
    const names = await readNames(list, request, rows)
    return { next, lines: rows.map((row) => csvLine(Object.values(csv).map((cell) => cell(row, names)))) }
  }
  return download(`${name}-${dayText(service.now())}.csv`, csvPages(Object.keys(csv), readPage))
}
