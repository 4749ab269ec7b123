/**
 * The code on a receipt: short enough to read out on the telephone, with a check character. It is the first 55 bits of the
 * transaction's reference key, which is the primary key of outcomes, so a lookup needs no extra index. It does not reveal
 * the user. If two transactions ever share a code, the lookup finds both.
 */

/** Without I, L, O and U, which people read as 1, 1, 0 and V. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const size = BigInt(alphabet.length)
const length = 11
/** 14 hexadecimal digits are 56 bits: the code uses 55 of them. */
const digits = 14

export function receiptCodeOf(referenceKey: string): string {
  let rest = BigInt(`0x${referenceKey.slice(0, digits)}`) >> 1n
  let text = ''
  for (let i = 0; i < length; i++) {
    text = alphabet[Number(rest % size)] + text
    rest /= size
  }
  return (text + checkOf(text)).replace(/(.{4})(?=.)/g, '$1-')
}

export type KeyRange = { readonly from: string; readonly to: string }

/** The range of reference keys with this code; undefined for text that is no code. Ignores case, spaces and dashes. */
export function parseReceiptCode(text: string): KeyRange | undefined {
  if (text.length > 40) return undefined
  const plain = text
    .toUpperCase()
    .replace(/[\s‐-―-]/g, '')
    .replace(/[IL]/g, '1')
    .replace(/O/g, '0')
  if (plain.length !== length + 1 || !/^[0-9A-HJKMNP-TV-Z]*$/.test(plain)) return undefined
  const code = plain.slice(0, length)
  if (checkOf(code) !== plain.at(-1)) return undefined
  const value = valuesOf(code).reduce((sum, value) => sum * size + BigInt(value), 0n) << 1n
  return { from: hex(value).padEnd(32, '0'), to: hex(value | 1n).padEnd(32, 'f') }
}

/** Luhn's algorithm over 32 characters: it detects every single wrong character and nearly every swapped pair. */
function checkOf(text: string): string {
  const sum = valuesOf(text).reduceRight((total, value, i) => {
    const weighted = value * ((length - i) % 2 === 0 ? 1 : 2)
    return total + Math.floor(weighted / alphabet.length) + (weighted % alphabet.length)
  }, 0)
  return alphabet[(alphabet.length - (sum % alphabet.length)) % alphabet.length]!
}

function valuesOf(text: string): number[] {
  return Array.from(text, (letter) => alphabet.indexOf(letter))
}

function hex(bits: bigint): string {
  return bits.toString(16).padStart(digits, '0')
}
