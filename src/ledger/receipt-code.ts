/**
 * The code on a receipt: short enough to be read out on the telephone, and wrong when one character of it is. It is the first 55
 * bits of the key of the transaction's reference, which the outcomes are sorted by, so it is found without an index of its own;
 * and it says nothing of whose transaction it is. Should two transactions ever share one, both are found.
 */

/** Without I, L, O and U, which are taken for 1, 1, 0 and V. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const size = BigInt(alphabet.length)
const length = 11
/** Of the 14 hexadecimal digits that the code is made from, one bit is left over. */
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

/** The keys a code stands for; undefined for what is no code. Case, spaces and dashes are as the caller likes. */
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

/** Luhn's, with 32 characters instead of ten: it notices every wrong character, and nearly every pair that was swapped. */
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
