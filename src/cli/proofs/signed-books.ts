/** Compares the books with a signed state of the log that was kept outside. */
import { readFile } from 'node:fs/promises'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey, type Checkpoint } from '../../../sdk/verify/note.ts'
import { verifyLog, type LogFault } from '../../actions/proofs/verify-log.ts'
import type { Currency } from '../../ledger/money.ts'
import type { Connection } from '../../store/connection/database.ts'
import { openForCommand } from '../data.ts'
import { CommandRefused, textsOf, type Invocation } from '../command.ts'

export const keyFlag = {
  value: 'KEY',
  about: 'a public key of the log that you trust, from GET /api/log/key; may be given several times',
  isRepeatable: true,
} as const

export const checkpointFlags = {
  key: keyFlag,
  checkpoint: { value: 'FILE', about: 'a signed state of the log that was kept outside' },
} as const

/** In the JSON object; a terminal shows all as they are found. */
const maxFaultsShown = 1_000

export async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${path} cannot be read: ${error.code ?? error.message}.`)
  })
}

/** Refuses a state that none of the keys signed. */
export async function readSigned(invocation: Invocation, path: string): Promise<Checkpoint> {
  const note = parseNote((await readText(path)).replaceAll('\r\n', '\n'))
  const signed = note && parseCheckpoint(note.text)
  if (!note || !signed) throw new CommandRefused('The file is not a signed state of a log.')
  const keys = await Promise.all((textsOf(invocation, 'key') ?? []).map(parseSignerKey))
  const known = keys.filter((key) => key !== null)
  const signers = (await findSigners(note, known)).filter(({ name }) => name === signed.origin)
  if (signers.length === 0) throw new CommandRefused('None of the given keys signed this state.')
  return signed
}

export async function compareWithSigned(
  invocation: Invocation,
  connection: Connection,
  signed: Checkpoint,
  currency: Currency,
): Promise<{ readonly json: Record<string, unknown>; readonly text: string; readonly isExact: boolean }> {
  const found: LogFault[] = []
  let faults = 0
  const { pool } = openForCommand(connection).longRunning
  try {
    for await (const fault of verifyLog(pool, signed, currency.code)) {
      faults++
      if (found.length < maxFaultsShown) found.push(fault)
      if (!invocation.isJson) invocation.io.output.write(`${describeFault(fault)}\n`)
    }
  } finally {
    await pool.end()
  }
  const isExact = faults === 0
  return {
    json: { isExact, leaves: signed.size, faults, found },
    text: isExact
      ? `The books are what was signed: ${signed.size} leaves of ${signed.origin}.`
      : `The books are not what was signed: ${faults} faults in ${signed.size} leaves of ${signed.origin}.`,
    isExact,
  }
}

function describeFault(fault: LogFault): string {
  if (fault.kind === 'log') return 'log: its leaves are not those that were signed.'
  if (fault.kind === 'audit') return `audit record ${fault.id}: it was ${fault.was}.`
  if (fault.kind === 'books')
    return `books of ${fault.day ?? 'a day'}: ${fault.account ?? 'their row in the log'} is not what was sealed.`
  const { walletId, from, until, entry } = fault
  const named = entry === undefined ? `an entry from ${from} to ${until}` : `entry ${entry}`
  return `wallet ${walletId}: ${named} is not what was sealed.`
}
