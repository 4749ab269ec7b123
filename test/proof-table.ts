/** The table of docs/security.md: what each route proves, made from the routes themselves. */
import type { Route } from '../src/api/route.ts'

/** Pages of the widget, which are no JSON routes: what opens them. A new one has to be added here. */
const pages: Readonly<Record<string, string>> = {
  'GET /widget/wallet': 'none: it shows nothing by itself, and its script makes the calls below',
  'GET /widget/topup': 'none: as the wallet',
  'GET /widget/papers/:token':
    'a link of `POST /api/widget/papers`, used once; it ends with its session and its device',
  'GET /widget/logo': 'none: public',
  'GET /widget/logo/:clientId': 'none: public',
}

type Page = { readonly method: string; readonly path: string }

const named = ({ method, path }: Page) => `${method} ${path}`

function proofOf({ proof, hasPassword, path }: Route): string {
  if (hasPassword) return `${proof}; the password is in the body, so a device is enough to call it`
  if (proof === 'stripe' || proof === 'sandbox') return `the signature of the card processor, ${proof}`
  return proof ?? (path.startsWith('/api/widget/auth/') ? 'none: before a sign-in' : 'none: public')
}

function rowOf(route: Route): string[] {
  const more = Object.entries(route.moreProof ?? {}).map(([proof, when]) => `${proof} ${when}`)
  return [`\`${named(route)}\``, proofOf(route), more.join('; ')]
}

export function proofTable(routes: readonly Route[], hosted: readonly Page[]): string {
  const shown = hosted.filter(({ path }) => path.startsWith('/widget/')).map(named)
  const missing = shown.filter((name) => pages[name] === undefined)
  if (missing.length > 0) throw new Error(`Say in test/proof-table.ts what opens ${missing.join(', ')}.`)
  const rows = [
    ...[...new Set(shown)].map((name) => [`\`${name}\``, pages[name]!, '']),
    ...routes.filter(({ path }) => path.startsWith('/api/')).map(rowOf),
  ]
  const cells = [['route', 'proof', 'some inputs need more'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => row[column]!.length)))
  const lineOf = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const [head, ...body] = cells.map(lineOf)
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body].join('\n')
}
