/** Parses CSV as a spreadsheet does. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? bare! : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push(row.splice(0))
  }
  return rows
}
