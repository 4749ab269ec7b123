/**
 * Server-rendered SVG charts. Positions are attributes and colours are classes, so the content security policy needs no inline styles.
 * Axis labels are HTML beside the SVG: inside it, text would shrink with the screen.
 */
import type { ComponentChildren } from 'preact'

export type Bar = { readonly label: string; readonly up: number; readonly down: number; readonly title: string }

type Format = (value: number) => string

const compact: Format = (value) => new Intl.NumberFormat('en', { notation: 'compact' }).format(value)

const [width, height] = [720, 180]

/** Two bars per label: `up` above the middle line, `down` below it. */
export function FlowChart({ bars, label, format = compact }: { bars: readonly Bar[]; label: string; format?: Format }) {
  const most = Math.max(0, ...bars.flatMap((bar) => [bar.up, bar.down]))
  const middle = height / 2
  const step = width / Math.max(1, bars.length)
  const thickness = Math.max(1, Math.min(26, step * 0.7))
  const scale = (middle - 4) / Math.max(most, Number.MIN_VALUE)
  if (most === 0) return <p class="no-plot">Nothing moved.</p>
  return (
    <Plot y={[format(most), '0', format(most)]} x={ends(bars.map((bar) => bar.label))}>
      <svg class="chart" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map((bar, i) => {
          const x = i * step + (step - thickness) / 2
          const [up, down] = [bar.up * scale, bar.down * scale]
          return (
            <g key={bar.label}>
              <title>{bar.title}</title>
              <rect x={round(i * step)} y="0" width={round(step)} height={height} fill="transparent" />
              {up > 0 && (
                <rect class="up" x={round(x)} y={round(middle - up)} width={round(thickness)} height={round(up)} />
              )}
              {down > 0 && (
                <rect class="down" x={round(x)} y={round(middle)} width={round(thickness)} height={round(down)} />
              )}
            </g>
          )
        })}
        <line class="axis" x1="0" x2={width} y1={middle} y2={middle} />
      </svg>
    </Plot>
  )
}

type LineProps = { values: readonly number[]; label: string; x: readonly [string, string]; format?: Format }

/** A line over time, starting at zero. Screen readers get the label with the lowest, highest and last value. */
export function LineChart({ values, label, x, format = compact }: LineProps) {
  const [w, h] = [160, 48]
  const most = Math.max(0, ...values)
  if (most === 0)
    return (
      <p class="no-plot">
        None from <span class="nowrap">{x[0]}</span> to <span class="nowrap">{x[1]}.</span>
      </p>
    )
  const step = w / Math.max(1, values.length - 1)
  const points = values.map((value, i) => `${round(i * step)},${round(h - 1 - (value / most) * (h - 3))}`)
  const description = `${label}, ${x.join(' to ')}: from ${format(Math.min(...values))} to ${format(most)}, last ${format(values.at(-1) ?? 0)}`
  return (
    <Plot y={[format(most), '0']} x={x}>
      <svg class="chart" viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" role="img" aria-label={description}>
        <polygon class="area" points={`0,${h} ${points.join(' ')} ${w},${h}`} />
        <polyline class="line" points={points.join(' ')} />
        <line class="axis" x1="0" x2={w} y1={h} y2={h} />
      </svg>
    </Plot>
  )
}

type PlotProps = { y: readonly string[]; x: readonly string[]; children: ComponentChildren }

/** The axis labels are hidden from screen readers: the SVG's label says the same. */
function Plot({ y, x, children }: PlotProps) {
  return (
    <div class="plot">
      <div class="plot-y" aria-hidden="true">
        {y.map((text, i) => (
          <span key={i}>{text}</span>
        ))}
      </div>
      {children}
      <div class="plot-x" aria-hidden="true">
        {x.map((text, i) => (
          <span key={i}>{text}</span>
        ))}
      </div>
    </div>
  )
}

/** The first, middle and last label. */
function ends(labels: readonly string[]): string[] {
  const middle = labels[Math.floor((labels.length - 1) / 2)]
  return labels.length < 3 ? [...labels] : [labels[0]!, middle!, labels.at(-1)!]
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
