import { encode } from 'uqr'

/**
 * Dark modules are true; the quiet zone is not part of it. Level M, and at most version 10, which is 213 bytes and what every
 * camera reads; an address for an authenticator app has about 120.
 */
export function encodeQr(text: string): boolean[][] {
  return encode(text, { ecc: 'M', boostEcc: false, maxVersion: 10, border: 0 }).data
}

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
