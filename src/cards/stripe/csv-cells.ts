/** The cells of one row of a CSV file, by RFC 4180. */

const maxColumns = 200
const maxCellLength = 128 * 1024

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns a text that describes the problem if the row is invalid. The row comes without its line break. */
export function cellsOf(row: Uint8Array): string[] | string {
  const text = decode(row)
  if (text === undefined) return 'it is not UTF-8'
  const cell = /("[^"]*(?:""[^"]*)*"|[^",\r\n]*)(,|\r?$)/y
  const cells: string[] = []
  for (;;) {
    const match = cell.exec(text)
    if (!match) return 'a quote or a line break is out of place'
    const [, written = '', end] = match
    if (written.length > maxCellLength) return `a cell has more than ${maxCellLength} characters`
    cells.push(written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written)
    if (end !== ',') return cells
    if (cells.length === maxColumns) return `it has more than ${maxColumns} cells`
  }
}

function decode(row: Uint8Array): string | undefined {
  try {
    return decoder.decode(row)
  } catch {
    return undefined
  }
}
