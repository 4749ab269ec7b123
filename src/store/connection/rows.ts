/** The row of a statement that always returns one. */
export function one<T>([row]: readonly T[]): T {
  if (row === undefined) throw new Error('a statement that always returns a row returned none')
  return row
}

/** The row of a statement that returns at most one. */
export function maybe<T>([row]: readonly T[]): T | undefined {
  return row
}
