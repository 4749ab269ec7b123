/**
 * The outcomes of an archived period in compact blocks, which the SQL function `archived_outcomes` reads. The records of a block have one width,
 * so that a key is found in it by halving; each block has the widths that its own values need.
 */

export type ArchivedReference = {
  /** In hex. */
  readonly key: string
  /** The number of the wallet in the period. */
  readonly wallet: number
  readonly amountMinor: bigint
  readonly balanceMinor: bigint
  readonly result: 'ENTRY' | 'INSUFFICIENT_BALANCE' | 'BALANCE_LIMIT' | 'HOLD'
  readonly heldMinor: bigint
}

export type ReferenceBlock = {
  readonly firstKey: string
  readonly keys: number
  readonly prefixBits: number
  readonly walletBits: number
  readonly amountBits: number
  readonly balanceBits: number
  readonly heldBits: number
  /** In hex, filled up with zeros. */
  readonly bits: string
}

const results: readonly ArchivedReference['result'][] = ['ENTRY', 'INSUFFICIENT_BALANCE', 'BALANCE_LIMIT', 'HOLD']

/**
 * Of the 128 bits of a key. A new reference is taken for one of a thousand million archived ones in fewer than one of 10^17 cases. Each further
 * byte would be one for every archived reference.
 */
const keptBits = 88
const keptDigits = keptBits / 4

/** One row fills a page of 8 kB. */
const maxBits = 8_080 * 8

/** The values of a record in the order of its bits. */
type Record = { readonly hex: string; readonly key: bigint; readonly values: readonly bigint[] }

function toRecord({ key, wallet, amountMinor, balanceMinor, result, heldMinor }: ArchivedReference): Record {
  const [amount, isDebit] = signed(amountMinor)
  const [balance, isDebt] = signed(balanceMinor)
  const code = BigInt(results.indexOf(result))
  const values = [BigInt(wallet), (amount << 3n) | (isDebit << 2n) | code, (balance << 1n) | isDebt, heldMinor]
  return { hex: key, key: BigInt(`0x${key.slice(0, keptDigits)}`), values }
}

const signed = (minor: bigint) => (minor < 0n ? ([-minor, 1n] as const) : ([minor, 0n] as const))
const bitsOf = (value: bigint) => (value === 0n ? 0 : value.toString(2).length)

/** Takes references in the order of their keys. `flush` is called at the end. */
export function openBlocks(onBlock: (block: ReferenceBlock) => void) {
  let records: Record[] = []
  let widths = noWidths
  const flush = () => {
    if (records.length > 0) onBlock(packBlock(records, widths))
    records = []
    widths = noWidths
  }
  return {
    flush,
    add: (reference: ArchivedReference) => {
      const record = toRecord(reference)
      if (record.key === records.at(-1)?.key)
        throw new Error(`Two references begin with the same ${keptBits} bits: ${record.hex}.`)
      const grown = widthsWith(widths, record)
      const width = keyBitsOf(records[0] ?? record, record) + sum(grown)
      if (width * (records.length + 1) > maxBits) flush()
      records.push(record)
      widths = widthsWith(widths, record)
    },
  }
}

/** A value of no bits could not be read. */
const noWidths: readonly number[] = [1, 1, 1, 1]
const widthsWith = (widths: readonly number[], { values }: Record) =>
  widths.map((width, i) => Math.max(width, bitsOf(values[i]!)))
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/** The bits in which keys of a block may differ; at least one. */
const keyBitsOf = (first: Record, last: Record) => Math.max(1, bitsOf(first.key ^ last.key))

function packBlock(records: readonly Record[], widths: readonly number[]): ReferenceBlock {
  const keyBits = keyBitsOf(records[0]!, records.at(-1)!)
  const mask = (1n << BigInt(keyBits)) - 1n
  const texts = records.map(({ key, values }) =>
    [key & mask, ...values].map((value, i) => value.toString(2).padStart([keyBits, ...widths][i]!, '0')).join(''),
  )
  const joined = texts.join('')
  const digits = Math.ceil(joined.length / 4)
  const bits = BigInt(`0b${joined.padEnd(digits * 4, '0')}`)
  const [walletBits, amountBits, balanceBits, heldBits] = widths as [number, number, number, number]
  const common = { firstKey: records[0]!.hex, keys: records.length, prefixBits: keptBits - keyBits }
  return { ...common, walletBits, amountBits, balanceBits, heldBits, bits: bits.toString(16).padStart(digits, '0') }
}
