/** What a Citus cluster refuses in a migration, found in its text: the statements on tables that are distributed. */

/** In sentences; empty for a migration that a distributed database can run. */
export function findRefused(sql: string, distributed: readonly string[]): string[] {
  const statements = plain(sql).split(';')
  const created = new Set(
    statements.flatMap((statement) => /^\s*create table (?:if not exists )?(\w+)/.exec(statement)?.[1] ?? []),
  )
  // A table that the migration itself creates is not distributed yet.
  const names = distributed.filter((name) => !created.has(name)).join('|')
  if (names === '') return []
  return statements.flatMap((statement) => {
    const text = statement.trim()
    const altered = new RegExp(`^alter table (?:if exists )?(?:only )?(?:${names})\\b`).test(text)
    const rules: readonly (readonly [isBroken: boolean, words: string])[] = [
      [altered && hasUnnamed(text), 'a constraint without a name'],
      [
        altered && /\badd constraint\b/.test(text) && isList(text),
        'a new constraint beside another change of the table',
      ],
      [altered && /\breferences\b/.test(text), 'a foreign key of a table that is distributed'],
      [
        !altered && new RegExp(`\\breferences (?:${names})\\b`).test(text),
        'a foreign key to a table that is distributed',
      ],
      [new RegExp(`^create (?:constraint )?trigger\\b.*\\bon (?:${names})\\b`).test(text), 'a trigger'],
    ]
    return rules.filter(([isBroken]) => isBroken).map(([, words]) => words)
  })
}

/** Whether it has a comma outside of parentheses. */
function isList(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) return true
  }
  return false
}

/** Lower case, one space between words, without comments, quotes of identifiers and texts. */
function plain(sql: string): string {
  return sql
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll('"', '')
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()
}

/** The name comes right before the kind of the constraint. */
function hasUnnamed(alter: string): boolean {
  const kinds = /\b(?:check ?\(|unique ?(?:\(|using\b|,|$)|primary key|foreign key|exclude\b)/g
  return [...alter.matchAll(kinds)].some(({ index }) => !/\bconstraint \w+ $/.test(alter.slice(0, index)))
}
