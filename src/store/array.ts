/** PostgreSQL array literals. The driver's own serialiser costs several times more on batches of hundreds of rows. */

/** For values that can hold no quote, comma, brace or backslash: numbers, uuids, booleans, fixed words. */
export function plainArray(values: readonly (bigint | number | boolean | string | null)[]): string {
  let text = '{'
  for (let i = 0; i < values.length; i++) text += (i === 0 ? '' : ',') + (values[i] ?? 'NULL')
  return text + '}'
}

/** For any text. */
export function textArray(values: readonly (string | null)[]): string {
  let text = '{'
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    text += i === 0 ? '' : ','
    text += value === null || value === undefined ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`
  }
  return text + '}'
}

/** The values of an array literal that holds none of the characters above; none for the NULL that stands for no rows. */
export function readArray(literal: string | null): string[] {
  return literal === null ? [] : literal.slice(1, -1).split(',')
}
