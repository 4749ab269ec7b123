/** Checks the files of an archived period by themselves, without a database. */
import type { Readable } from 'node:stream'
import {
  archiveFormat,
  ArchiveRefused,
  entriesName,
  openTally,
  outcomesName,
  parseEntryLine,
  parseOutcomeLine,
} from './archive-file.ts'
import type { Entry, Manifest, WalletLine, WrittenFile } from './archive-file.ts'
import { readArchiveFile } from './read-archive-file.ts'

export type CheckOptions = {
  readonly openFile: (name: string) => Readable
  /** A sentence. */
  readonly onFault: (fault: string) => void
  readonly onProgress?: (done: number, of: number) => void
}

/** Undefined if the text is not the manifest of this period. */
export function parseManifest(text: string, period: number): Manifest | undefined {
  try {
    const manifest = JSON.parse(text) as Manifest
    const files = [manifest.entries, manifest.outcomes]
    const isManifest =
      manifest.format === archiveFormat &&
      manifest.period === period &&
      files.every(({ rows, bytes, sha256 }) => Number.isSafeInteger(rows + bytes) && typeof sha256 === 'string') &&
      manifest.entries.file === entriesName(period) &&
      manifest.outcomes.file === outcomesName(period) &&
      manifest.accounts.every(({ account }) => typeof account === 'string')
    return isManifest ? manifest : undefined
  } catch {
    return undefined
  }
}

/** Reports every fault of the files that it can; a damaged file is not read further. */
export async function checkArchive(manifest: Manifest, options: CheckOptions): Promise<void> {
  const { onFault, onProgress } = options
  const entries = openEntryCheck(onFault)
  await checkFile(manifest.entries, options, (line) => {
    entries.next(line)
    onProgress?.(entries.count(), manifest.entries.rows)
  })
  entries.end(manifest)
  const outcomes = openOutcomeCheck(onFault)
  await checkFile(manifest.outcomes, options, outcomes.next)
  if (outcomes.count() !== manifest.outcomes.rows)
    onFault(`${manifest.outcomes.file} has ${outcomes.count()} references, and the manifest ${manifest.outcomes.rows}.`)
}

async function checkFile(
  written: WrittenFile,
  { openFile, onFault }: CheckOptions,
  onLine: (line: string) => void,
): Promise<void> {
  try {
    for await (const lines of readArchiveFile(written, openFile)) for (const line of lines) onLine(line)
  } catch (error) {
    if (!(error instanceof ArchiveRefused)) throw error
    onFault(error.message)
  }
}

const maxMinor = 999_999_999_999_999

/** What must hold of every entry, from the one before it. */
function openEntryCheck(onFault: (fault: string) => void) {
  const tally = openTally()
  let wallets = 0
  let count = 0
  let wallet: WalletLine | undefined
  let sequence = 0
  let balance = 0
  let last: Entry | undefined
  const begin = (next: WalletLine) => {
    const [id, first, before] = next
    if (wallet && wallet[0] >= id) onFault(`Wallet ${id} is not in its order.`)
    if (wallet && !last) onFault(`Wallet ${wallet[0]} has no entry.`)
    if (first < 1 || Math.abs(before) > maxMinor || (first === 1 && before !== 0))
      onFault(`Wallet ${id} begins with entry ${first} and balance ${before}, which cannot be.`)
    wallet = next
    wallets++
    sequence = first - 1
    balance = before
    last = undefined
  }
  const add = (entry: Entry) => {
    count++
    sequence++
    balance += entry.amountMinor
    tally.add(entry.counterAccount, entry.amountMinor)
    const fault = faultOf(entry, balance, last)
    if (fault) onFault(`Entry ${sequence} of wallet ${wallet?.[0] ?? 'unknown'} ${fault}.`)
    last = entry
  }
  return {
    count: () => count,
    next: (line: string) => {
      const parsed = parseEntryLine(line)
      if (!parsed || (!wallet && 'entry' in parsed)) onFault(`A line after entry ${count} is not one of an archive.`)
      else if ('wallet' in parsed) begin(parsed.wallet)
      else add(parsed.entry)
    },
    end: ({ entries, accounts, wallets: expected }: Manifest) => {
      if (wallet && !last) onFault(`Wallet ${wallet[0]} has no entry.`)
      if (count !== entries.rows || wallets !== expected)
        onFault(
          `${entries.file} has ${count} entries of ${wallets} wallets, and the manifest ${entries.rows} of ${expected}.`,
        )
      const sums = tally.sums()
      for (const { account } of sums.filter((sum) => !accounts.some((said) => isSame(sum, said))))
        onFault(`The sums of ${account} are not those of the manifest.`)
      for (const { account } of accounts.filter((said) => !sums.some((sum) => sum.account === said.account)))
        onFault(`The manifest has ${account}, and no entry is on it.`)
    },
  }
}

const isSame = (a: Manifest['accounts'][number], b: Manifest['accounts'][number]) =>
  a.account === b.account && a.entries === b.entries && a.debited === b.debited && a.credited === b.credited

function faultOf({ amountMinor, microseconds, counterAccount }: Entry, balance: number, last: Entry | undefined) {
  if (amountMinor === 0) return 'moves nothing'
  if (Math.abs(balance) > maxMinor) return 'ends with a balance that cannot be'
  if (balance < 0 && amountMinor < 0 && counterAccount !== 'cards') return 'overdraws the wallet'
  if (last && microseconds < last.microseconds) return 'is older than the one before it'
  return undefined
}

function openOutcomeCheck(onFault: (fault: string) => void) {
  let count = 0
  let last = ''
  return {
    count: () => count,
    next: (line: string) => {
      const outcome = parseOutcomeLine(line)
      if (!outcome) return onFault(`A line after reference ${count} is not one of an archive.`)
      if (outcome.referenceKey <= last) onFault(`Reference ${outcome.referenceKey} is not in its order.`)
      last = outcome.referenceKey
      count++
    },
  }
}
