/** RFC 4180: commas, CRLF, quotes doubled. */

/**
 * A spreadsheet runs a cell that begins with one of these as a formula, and anyone can put one into a reference or a
 * name: an apostrophe in front makes it text again. Numbers of our own are not given here as text from outside.
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

export type Cell = string | number | bigint | null | undefined | { readonly plain: string }

/** A value we made ourselves, such as `-12.50`: it is written as it is. */
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
