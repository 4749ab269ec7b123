/**
 * The statements of a migration, to be sent one at a time: the coordinator sends the nodes the whole text that it was given, and they
 * refuse several statements.
 */
export function splitStatements(sql: string): string[] {
  const statements: string[] = []
  let from = 0
  let hasText = false
  const endAt = (at: number) => {
    if (hasText) statements.push(sql.slice(from, at).trim())
    from = at + 1
    hasText = false
  }
  for (let at = 0; at < sql.length;) {
    if (sql[at] === ';') endAt(at)
    else if (!isComment(sql, at) && sql[at]!.trim() !== '') hasText = true
    at = endOfToken(sql, at)
  }
  endAt(sql.length)
  return statements
}

function isComment(sql: string, at: number): boolean {
  return sql.startsWith('--', at) || sql.startsWith('/*', at)
}

/** Of a comment, a text, a quoted name or a body between dollar signs; otherwise of one character. A doubled quote begins another text. */
function endOfToken(sql: string, at: number): number {
  const after = (mark: string, from: number) => {
    const found = sql.indexOf(mark, from)
    return found === -1 ? sql.length : found + mark.length
  }
  if (sql.startsWith('--', at)) return after('\n', at)
  if (sql.startsWith('/*', at)) return after('*/', at + 2)
  const character = sql[at]!
  if (character === "'" || character === '"') return after(character, at + 1)
  const dollar = /\$\w*\$/y
  dollar.lastIndex = at
  const [mark] = dollar.exec(sql) ?? []
  return mark === undefined ? at + 1 : after(mark, at + mark.length)
}
