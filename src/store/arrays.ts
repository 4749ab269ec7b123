/** PostgreSQL array literals. The driver's own serialiser costs several times more on batches of hundreds of rows. */

type Plain = bigint | number | boolean | string | null

/** For values that can hold no quote, comma, brace or backslash: numbers, uuids, booleans, fixed words. */
export function plainArray<T>(items: readonly T[], valueOf: (item: T) => Plain): string {
  let text = '{'
  for (let i = 0; i < items.length; i++) text += (i === 0 ? '' : ',') + (valueOf(items[i]!) ?? 'NULL')
  return text + '}'
}

/** For any text. */
export function textArray<T>(items: readonly T[], valueOf: (item: T) => string | null): string {
  let text = '{'
  for (let i = 0; i < items.length; i++) {
    const value = valueOf(items[i]!)
    text += i === 0 ? '' : ','
    text += value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`
  }
  return text + '}'
}

/** The values of an array literal that holds none of those characters; none for the NULL that stands for no rows. */
export function readArray(literal: string | null): string[] {
  return literal === null ? [] : literal.slice(1, -1).split(',')
}
