/** The comparison as a chart for the README: `bun bench/comparison.ts <result.json>` draws it again. */
import type { Report } from './measure.ts'

type Bar = { readonly label: string; readonly perSecond: number; readonly kind: 'ours' | 'theirs' | 'bound' }

const width = 840
const labelWidth = 330
const barsWidth = width - labelWidth - 90
const top = 84
const rowHeight = 34

export function drawComparison(report: Pick<Report, 'basePerSecond' | 'comparisons' | 'machine'>): string {
  const bars = toBars(report)
  const highest = Math.max(...bars.map((bar) => bar.perSecond))
  const height = top + bars.length * rowHeight + 44
  const { processor, memory, runtime, postgres } = report.machine
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">
<title id="title">Operations per second, in one run on one machine</title>
<desc id="desc">${escape(bars.map(({ label, perSecond }) => `${label}: ${shown(perSecond)}`).join('; '))}</desc>
<style>
  svg { font: 15px system-ui, -apple-system, 'Segoe UI', sans-serif; }
  text { fill: #1f2328; } .quiet { fill: #59636e; font-size: 13px; } .title { font-size: 18px; font-weight: 600; }
  .rate { font-variant-numeric: tabular-nums; font-weight: 600; }
  .ours { fill: #1a7f5a; } .theirs { fill: #818b98; } .bound { fill: none; stroke: #818b98; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .ours { fill: #3fb68b; } .theirs { fill: #6e7681; } .bound { stroke: #6e7681; }
  }
</style>
<text class="title" x="0" y="24">Operations per second, in one run on one machine</text>
<text class="quiet" x="0" y="48">The load, the service and the database share ${escape(processor)}, ${escape(memory)}.</text>
${bars.map((bar, i) => drawBar(bar, top + i * rowHeight, highest)).join('\n')}
<text class="quiet" x="0" y="${height - 12}">${escape(`${runtime}, ${postgres}; every debit is durable (fsync) when it is answered. Medians of rounds taken in turn.`)}</text>
</svg>
`
}

function drawBar({ label, perSecond, kind }: Bar, y: number, highest: number): string {
  const length = Math.max(2, Math.round((perSecond / highest) * barsWidth))
  return [
    `<text x="0" y="${y + 17}">${escape(label)}</text>`,
    `<rect class="${kind}" x="${labelWidth}.5" y="${y}.5" width="${length}" height="23" rx="3"/>`,
    `<text class="rate" x="${labelWidth + length + 10}" y="${y + 17}">${shown(perSecond)}</text>`,
  ].join('')
}

const labels: Readonly<Record<string, Pick<Bar, 'label' | 'kind'>>> = {
  large: { label: 'Billfold debits, after 10 million', kind: 'ours' },
  hot: { label: 'Billfold debits, all on one wallet', kind: 'ours' },
  refused: { label: 'Billfold debits, 10 % refused', kind: 'ours' },
  replays: { label: 'Billfold debits, 10 % replays', kind: 'ours' },
  'check-balance': { label: 'Billfold check-balance', kind: 'ours' },
  pgbench: { label: 'pgbench TPC-B, straight to PostgreSQL', kind: 'theirs' },
  echo: { label: 'a bare JSON echo, no database at all', kind: 'bound' },
}

function toBars({ basePerSecond, comparisons }: Pick<Report, 'basePerSecond' | 'comparisons'>): Bar[] {
  const base: Bar = { label: 'Billfold debits over HTTP, 100,000 wallets', perSecond: basePerSecond, kind: 'ours' }
  const others = Object.entries(labels).flatMap(([name, look]) => {
    const found = comparisons.find((comparison) => comparison.name === name)
    return found ? [{ ...look, perSecond: found.perSecond }] : []
  })
  return [base, ...others]
}

function shown(perSecond: number): string {
  return (Math.round(perSecond / 10) * 10).toLocaleString('en-US')
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

if (import.meta.main) {
  const report = (await Bun.file(process.argv[2]!).json()) as Report
  await Bun.write(new URL('./comparison.svg', import.meta.url), drawComparison(report))
}
