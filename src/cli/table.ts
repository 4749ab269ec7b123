/** Formats values for people. */

export function formatFields(named: readonly (readonly [string, string | number | null])[]): string {
  const width = Math.max(...named.map(([name]) => name.length)) + 2
  return named.map(([name, value]) => `${name.padEnd(width)}${value ?? '–'}`).join('\n')
}

export function formatList(values: readonly string[]): string {
  return values.length === 0 ? 'none' : values.join('  ')
}

export function formatTime(time: Date | null): string | null {
  return time && time.toISOString().replace(/\.\d+Z$/, 'Z')
}
