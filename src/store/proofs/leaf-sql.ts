/** The text of a leaf and its hash, in SQL. */

/** A text with its length in bytes before it, so that no two lists of texts have the same bytes; `-` for null. */
export function lengthPrefixedSql(value: string): string {
  return `case when ${value} is null then '-' else concat(octet_length(${value}), ':', ${value}) end`
}

/** Lines, none of which is null. */
const linesSql = (lines: readonly string[]) => `convert_to(concat_ws(E'\\n', ${lines.join(', ')}), 'UTF8')`

export const hashLeafSql = (lines: readonly string[]) => `sha256('\\x00'::bytea || ${linesSql(lines)})`
