/** RFC 4180: commas, CRLF, quotes doubled. */
import { streamed } from './stream.ts'
import { plainHeaders } from './headers.ts'

/**
 * A spreadsheet runs a cell that begins with one of these characters as a formula, and anyone can begin a reference or a name
 * with one: an apostrophe in front makes the cell text again. Negative amounts, which are our own, are marked by `plain`.
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

export type Cell = string | number | bigint | null | undefined | { readonly plain: string }

/** A value of the service's own, such as `-12.50`, which is written without an apostrophe. */
export function plain(text: string): Cell {
  return { plain: text }
}

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

function toCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return cell.plain
  if (typeof cell !== 'string') return String(cell)
  const text = formula.test(cell.trimStart()) || formula.test(cell) ? `'${cell}` : cell
  return /[",;\t|\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}

/** `fileName` goes into a header unescaped: it is made of our own ids and dates alone. */
export function download(fileName: string, chunks: AsyncIterable<string>): Response {
  return streamed(chunks, {
    ...plainHeaders,
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
  })
}

/** What no spreadsheet opens anyway; whoever needs more takes a narrower filter. */
const maxLines = 1_000_000

/**
 * Lines page by page, as long as there is a next one. A file that had to end early says so in its last line, so that nobody takes
 * it for the whole.
 */
export async function* csvPages<Page extends { readonly lines: readonly string[] }>(
  head: readonly string[],
  read: (before: Page | undefined) => Promise<Page | undefined>,
  limit = maxLines,
): AsyncGenerator<string> {
  yield csvLine(head)
  let written = 0
  for (let page = await read(undefined); page; page = await read(page)) {
    const lines = page.lines.slice(0, limit - written)
    written += lines.length
    if (lines.length > 0) yield lines.join('')
    if (written >= limit) {
      yield csvLine([`cut after ${written} lines`])
      return
    }
  }
}
