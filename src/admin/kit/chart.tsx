/** Charts as SVG, drawn on the server: positions are attributes, colours are classes, so the page's policy stays strict. */

type Bar = { readonly label: string; readonly up: number; readonly down: number; readonly title: string }

const [width, height, top, bottom] = [720, 200, 12, 22]

/** Two bars for each label, one up and one down from the middle line. */
export function FlowChart({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const most = Math.max(1, ...bars.flatMap((bar) => [bar.up, bar.down]))
  const middle = top + (height - top - bottom) / 2
  const reach = (height - top - bottom) / 2
  const step = width / Math.max(1, bars.length)
  const thickness = Math.max(1, Math.min(26, step * 0.7))
  const every = Math.ceil(bars.length / 8)
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {bars.map((bar, i) => {
        const x = i * step + (step - thickness) / 2
        const [up, down] = [(bar.up / most) * reach, (bar.down / most) * reach]
        return (
          <g key={bar.label}>
            <title>{bar.title}</title>
            <rect x={i * step} y={top} width={step} height={height - top - bottom} fill="transparent" />
            {up > 0 && (
              <rect class="up" x={round(x)} y={round(middle - up)} width={round(thickness)} height={round(up)} rx="2" />
            )}
            {down > 0 && (
              <rect class="down" x={round(x)} y={round(middle)} width={round(thickness)} height={round(down)} rx="2" />
            )}
            {i % every === 0 && (
              <text x={round(i * step + step / 2)} y={height - 6} text-anchor="middle">
                {bar.label}
              </text>
            )}
          </g>
        )
      })}
      <line class="axis" x1="0" x2={width} y1={middle} y2={middle} />
    </svg>
  )
}

/** A small line without axes; the number beside it is the value. */
export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const [w, h] = [160, 36]
  const most = Math.max(1, ...values)
  const step = w / Math.max(1, values.length - 1)
  const points = values.map((value, i) => `${round(i * step)},${round(h - 2 - (value / most) * (h - 6))}`)
  return (
    <svg class="chart" viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length > 1 && <polygon class="area" points={`0,${h} ${points.join(' ')} ${w},${h}`} />}
      {points.length > 1 && <polyline class="line" points={points.join(' ')} />}
    </svg>
  )
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
