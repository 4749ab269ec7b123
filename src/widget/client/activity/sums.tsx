/** What came in and went out, in a month or in what a search found: two totals, each with a bar and a list by app. */
import type { ComponentChildren } from 'preact'
import { formatMoney } from '../format.ts'
import { usePage } from '../page-context.tsx'
import { Fitted } from './fitted.tsx'
import { toDecimal } from './parse-search.ts'
import type { SourceSum, Sums } from './use-sums.ts'

type Side = 'outMinor' | 'inMinor'

type SumsCardProps = {
  title: string
  /** Undefined while nothing is known yet. */
  sums: Sums | undefined
  /** The text instead of the lists if there is no entry. */
  emptyText?: string
  /** Buttons beside the title. */
  head?: ComponentChildren
  children?: ComponentChildren
}

export function SumsCard({ title, sums, emptyText, head, children }: SumsCardProps) {
  const { words } = usePage()
  const isEmpty = sums?.sources.length === 0 && sums.nextBefore === null
  return (
    <section class="sums card" aria-labelledby="sums-title">
      <div class="sums-head">
        <h2 id="sums-title">{title}</h2>
        {head}
      </div>
      {isEmpty ? (
        <p class="muted sums-empty">{sums.hasArchived ? words.archived : emptyText}</p>
      ) : (
        <div class="sums-sides" aria-busy={sums === undefined}>
          <SideSums side="outMinor" sums={sums} />
          <SideSums side="inMinor" sums={sums} />
        </div>
      )}
      {!isEmpty && sums?.hasArchived && <p class="muted sums-empty">{words.archived}</p>}
      {children}
    </section>
  )
}

/** The total of one side, formatted exactly. */
export function useTotal() {
  const { lang, topup } = usePage()
  const format = (minor: bigint) => formatMoney(toDecimal(minor, topup.decimals), topup.currency, lang)
  const totalOf = (sums: Sums | undefined, side: Side) =>
    format((sums?.sources ?? []).reduce((sum, each) => sum + each[side], 0n))
  return { format, totalOf }
}

function SideSums({ side, sums }: { side: Side; sums: Sums | undefined }) {
  const { say } = usePage<'activity'>()
  const { format, totalOf } = useTotal()
  const nameOf = useSourceName()
  const rows = rowsOf(sums?.sources ?? [], side)
  const id = `sums-${side}`
  return (
    <div class="side">
      <h3 id={id}>
        <span class="muted">{say(side === 'outMinor' ? 'sumOut' : 'sumIn')}</span>
        {sums ? (
          <strong>
            <Fitted text={totalOf(sums, side)} />
          </strong>
        ) : (
          <span class="skeleton line short" />
        )}
      </h3>
      <div class="bar" aria-hidden="true">
        {rows.map(({ key, app, minor, share }) => (
          <span
            key={key}
            class={app ? undefined : `of-${key}`}
            style={{ flexGrow: share, background: app?.color }}
            hidden={minor === 0n}
          />
        ))}
      </div>
      <ul role="list" aria-labelledby={id}>
        {rows.map((row) => (
          <li key={row.key}>
            <span
              class={row.app ? 'swatch' : `swatch of-${row.key}`}
              style={{ background: row.app?.color }}
              aria-hidden="true"
            />
            <bdi>{nameOf(row)}</bdi> <Fitted text={format(row.minor)} />
          </li>
        ))}
      </ul>
    </div>
  )
}

type Row = {
  /** A clientId, or `card`, `service` or `others`. */
  readonly key: string
  readonly app: SourceSum['app']
  readonly minor: bigint
  /** The part of the bar, from 0 to 1000. */
  readonly share: number
  /** How many sources the row adds up. */
  readonly sources: number
}

const maxRows = 5

/** The largest first; beyond five, the smallest are one row. */
export function rowsOf(sources: readonly SourceSum[], side: Side): Row[] {
  const used = sources
    .filter((each) => each[side] > 0n)
    .sort((a, b) => (a[side] < b[side] ? 1 : a[side] > b[side] ? -1 : 0))
  const total = used.reduce((sum, each) => sum + each[side], 0n)
  const kept = used.length > maxRows ? used.slice(0, maxRows - 1) : used
  const rest = used.slice(kept.length)
  const share = (minor: bigint) => Number((minor * 1000n) / total)
  const rows = kept.map(({ key, app, [side]: minor }) => ({ key, app, minor, share: share(minor), sources: 1 }))
  if (rest.length === 0) return rows
  const minor = rest.reduce((sum, each) => sum + each[side], 0n)
  return [...rows, { key: 'others', app: null, minor, share: share(minor), sources: rest.length }]
}

function useSourceName() {
  const { lang, say, service } = usePage<'activity'>()
  return ({ key, app, sources }: Row): string => {
    if (app) return app.name
    if (key === 'others') return say('others', { count: new Intl.NumberFormat(lang).format(sources) })
    return key === 'card' ? say('yourCard') : service.name
  }
}
