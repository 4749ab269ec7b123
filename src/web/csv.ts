/** RFC 4180: commas, CRLF, quotes doubled. */
import { showControls } from './isolate.ts'
import { streamed } from './stream.ts'
import { plainHeaders } from './headers.ts'

/**
 * Spreadsheets run a cell that starts with one of these characters as a formula, and references and names come from callers. An
 * apostrophe in front makes the cell text. Negative amounts are our own values and are exempted with `plain`.
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

export type Cell = string | number | bigint | null | undefined | { readonly plain: string }

/** A value of the service itself, such as `-12.50`, that is written without an apostrophe. */
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
  const shown = showControls(cell)
  const text = formula.test(shown.trimStart()) || formula.test(shown) ? `'${shown}` : shown
  return /[",;\t|\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}

/** `fileName` goes into a header, so only safe characters remain. */
const csvType = 'text/csv; charset=utf-8; header=present'

export function download(fileName: string, chunks: AsyncIterable<string>, type = csvType): Response {
  return streamed(chunks, {
    ...plainHeaders,
    'content-type': type,
    'content-disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
  })
}

/** No spreadsheet opens more lines; a narrower filter gives the rest. */
const maxLines = 1_000_000

/**
 * Yields lines page by page until there is no next page. A file that reaches the limit says so in its last line, so that it is not
 * mistaken for the whole.
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
