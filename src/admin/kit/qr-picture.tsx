import { encodeQr } from './qr.ts'

/** Always dark on light, whatever the theme: many cameras read nothing else. */
export function QrPicture({ text, label }: { text: string; label: string }) {
  const grid = encodeQr(text)
  const size = grid.length + 8
  const path = grid
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])))
    .join('')
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} width="232" height="232" role="img" aria-label={label}>
      <rect width={size} height={size} fill="#ffffff" />
      <path d={path} fill="#000000" shape-rendering="crispEdges" />
    </svg>
  )
}
