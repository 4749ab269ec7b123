/** WebCrypto. Node 18 has it only in a module. */
export async function getSubtle(): Promise<SubtleCrypto> {
  const { crypto } = globalThis as { crypto?: Crypto }
  if (crypto) return crypto.subtle
  // In a variable, so that bundlers for other runtimes leave it alone.
  const module: string = 'node:crypto'
  return ((await import(module)) as { webcrypto: Crypto }).webcrypto.subtle
}
