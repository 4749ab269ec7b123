/** The amounts that the top-up page offers, and the parser of a typed amount. */
import type { TopupOffer } from '../../page-data.ts'

/**
 * At most four amounts within the limits: the wanted amount first, then only higher round amounts. Currencies without decimals
 * offer higher ones, because a yen is worth about a cent.
 */
export function presetsFor({ decimals, min, max }: TopupOffer, wanted = 0): number[] {
  const steps = decimals === 0 ? [1000, 2500, 5000, 10_000] : [10, 25, 50, 100]
  const round = steps.filter((amount) => amount >= min && amount <= max)
  if (wanted === 0) return round
  const first = withinLimits(wanted, { min, max })
  return [first, ...round.filter((amount) => amount > first)].slice(0, 4)
}

export function withinLimits(amount: number, { min, max }: Pick<TopupOffer, 'min' | 'max'>): number {
  return Math.min(Math.max(amount, min), max)
}

const digitBlocks = [0x0660, 0x06f0, 0x0966]

/** Accepts digits of other scripts and either decimal sign: "12,50", "١٢٫٥". Undefined if invalid or outside the limits. */
export function parseTypedAmount(text: string, { decimals, min, max }: TopupOffer): number | undefined {
  const plain = text
    .normalize('NFKC')
    .replace(/\p{Nd}/gu, (digit) => asciiDigit(digit))
    .replace(/[٫,]/g, '.')
    .replace(/[\s\u066c'’]|\p{Sc}/gu, '')
  const match = /^(\d{1,9})(?:\.(\d+))?$/.exec(plain)
  if (!match || !/^0*$/.test((match[2] ?? '').slice(decimals))) return undefined
  const amount = Number(plain)
  return amount >= min && amount <= max ? amount : undefined
}

function asciiDigit(digit: string): string {
  const point = digit.codePointAt(0)!
  const start = digitBlocks.find((first) => point >= first && point < first + 10)
  return start === undefined ? digit : String(point - start)
}
