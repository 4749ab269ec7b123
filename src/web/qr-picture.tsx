import { encode } from 'uqr'

/**
 * The QR code's modules, true for dark, without the quiet zone. Error correction level M and at most version 10: it holds 213 bytes
 * and every camera reads it; an otpauth address has about 120.
 */
export function encodeQr(text: string): boolean[][] {
  return encode(text, { ecc: 'M', boostEcc: false, maxVersion: 10, border: 0 }).data
}

/** Dark modules on a light background in both themes: many cameras cannot read the inverse. */
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
