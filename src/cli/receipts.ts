/** Proofs and the log on the command line: a receipt is checked without a database, the books against a signed state of the log. */
import { readFile } from 'node:fs/promises'
import { compareProofs, verifyProof, type VerifiedEntry } from '../../sdk/verify.ts'
import { findSigners, parseCheckpoint, parseNote, parseSignerKey, type Checkpoint } from '../../sdk/verify/note.ts'
import { describeLog } from '../actions/proofs/describe-log.ts'
import { proveEntry } from '../actions/proofs/prove-entry.ts'
import { verifyLog, type LogFault } from '../actions/proofs/verify-log.ts'
import { CommandRefused, UsageMistake, textOf, textsOf, wholeNumber, type Command, type Invocation } from './command.ts'
import { withService } from './data.ts'

const keyFlag = {
  key: {
    value: 'KEY',
    about: 'a public key of the log that you trust, from GET /api/log/key; may be given several times',
    isRequired: true,
    isRepeatable: true,
  },
} as const

/** In the JSON object; a terminal shows all as they are found. */
const maxFaultsShown = 1_000

export const receiptCommands: readonly Command[] = [
  {
    name: 'verify-receipt',
    database: 'none',
    positionals: ['file', '[earlier]'],
    summary: 'check the proof of a payment, without the service and without a database; exit code 1 if it is not right',
    flags: {
      ...keyFlag,
      checkpoint: { value: 'FILE', about: 'a signed state of the log that you got another way' },
    },
    details: `With a second file, an earlier proof of the same wallet, it also says whether the history was rewritten between them. For that the later
proof must have been asked for since the number of entries that the earlier one names.`,
    examples: ['verify-receipt payment.proof --key wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ…'],
    run: async (invocation) => {
      const [file = '', earlier] = await Promise.all(invocation.positionals.map(readText))
      const keys = textsOf(invocation, 'key') ?? []
      const path = textOf(invocation, 'checkpoint')
      const checkpoint = path === undefined ? undefined : await readText(path)
      const verdict = await verifyProof(file, { keys, ...(checkpoint !== undefined && { checkpoint }) })
      if (!verdict.ok) return { json: { isRight: false, ...verdict }, text: verdict.message, exitCode: 1 }
      const { entry } = verdict
      const said = { isRight: true, ...jsonOf(entry) }
      if (earlier === undefined) return { json: said, text: sentenceOf(entry) }
      const history = await compareProofs([earlier, file], { keys })
      return {
        json: { ...said, history: history.kind, message: history.message },
        text: `${sentenceOf(entry)}\n${history.message}`,
        exitCode: history.kind === 'kept' ? 0 : 1,
      }
    },
  },
  {
    name: 'log show',
    database: 'reads',
    summary: 'show the newest signed state of the log, and the key that checks it',
    examples: ['log show'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const log = await describeLog(service)
        if (!log?.newest) throw new CommandRefused('Nothing is sealed yet.')
        const { newest, publicKey } = log
        return {
          json: { origin: newest.origin, size: newest.size, checkpoint: newest.note, key: publicKey ?? null },
          text: `${publicKey ?? 'This machine does not have the key that seals the log’s.'}\n\n${newest.note}`,
        }
      }),
  },
  {
    name: 'log prove',
    database: 'writes',
    positionals: ['wallet', 'sequence'],
    summary: 'write the proof of one entry to stdout; it is sealed first if it is new',
    flags: { since: { value: 'N', about: 'the number of entries that an earlier proof of this wallet names' } },
    examples: ['log prove 0199a0b0-0000-7000-8000-000000000000 17'],
    run: async (invocation) => {
      const [walletId = '', number = ''] = invocation.positionals
      const sequence = wholeNumber(number)
      const text = textOf(invocation, 'since')
      const since = text === undefined ? undefined : wholeNumber(text)
      if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(walletId)) throw new UsageMistake('wallet: write its id.')
      if (!sequence) throw new UsageMistake('sequence: write a whole number above 0.')
      if (text !== undefined && !since) throw new UsageMistake('--since: write a whole number above 0.')
      return await withService(invocation, async (service) => {
        const result = await proveEntry(service, { walletId, sequence, since })
        if (result.kind !== 'proof') throw new CommandRefused(refusals[result.kind])
        return { json: { proof: result.file }, text: result.file.trimEnd() }
      })
    },
  },
  {
    name: 'log verify',
    database: 'reads',
    summary: 'compare the books with a signed state of the log, and name what was changed; exit code 1 if anything was',
    flags: {
      ...keyFlag,
      checkpoint: { value: 'FILE', about: 'a signed state of the log that was kept outside', isRequired: true },
    },
    details: `Computes every sealed entry, audit record and day again from the database, and compares them with the state in the file. It names the
wallet and the entry, the audit record, or the day and the account that is not what was sealed. Run verify too: it checks what the log does not
have, such as balances.`,
    examples: [
      'log verify --checkpoint /mnt/other/checkpoint --key wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ…',
    ],
    run: async (invocation) => {
      const signed = await readSigned(invocation)
      return await withService(invocation, async ({ db, config }) => {
        const found: LogFault[] = []
        let faults = 0
        for await (const fault of verifyLog(db.pool, signed, config.currency.code)) {
          faults++
          if (found.length < maxFaultsShown) found.push(fault)
          if (!invocation.isJson) invocation.io.output.write(`${describeFault(fault)}\n`)
        }
        return {
          json: { isExact: faults === 0, leaves: signed.size, faults, found },
          text:
            faults === 0
              ? `The books are what was signed: ${signed.size} leaves of ${signed.origin}.`
              : `The books are not what was signed: ${faults} faults in ${signed.size} leaves of ${signed.origin}.`,
          exitCode: faults === 0 ? 0 : 1,
        }
      })
    },
  },
]

const refusals = {
  'not-found': 'There is no such entry.',
  'not-since': 'The wallet has fewer sealed entries than --since.',
  'not-yet':
    'The entry cannot be sealed now: other processes seal, the check of this wallet found a fault, or the key is missing.',
  contradiction: 'The entry is not what was sealed.',
} as const

async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandRefused(`${path} cannot be read: ${error.code ?? error.message}.`)
  })
}

/** Refuses a state that none of the keys signed. */
async function readSigned(invocation: Invocation): Promise<Checkpoint> {
  const note = parseNote(await readText(textOf(invocation, 'checkpoint')!))
  const signed = note && parseCheckpoint(note.text)
  if (!note || !signed) throw new CommandRefused('The file is not a signed state of a log.')
  const keys = await Promise.all((textsOf(invocation, 'key') ?? []).map(parseSignerKey))
  const known = keys.filter((key) => key !== null)
  const signers = (await findSigners(note, known)).filter(({ name }) => name === signed.origin)
  if (signers.length === 0) throw new CommandRefused('None of the given keys signed this state.')
  return signed
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

const jsonOf = ({ amountMinor, at, ...entry }: VerifiedEntry) => ({
  ...entry,
  amountMinor: String(amountMinor),
  at: at.toISOString(),
})

function sentenceOf({
  amountMinor,
  currency,
  at,
  sequence,
  walletSize,
  texts,
  origin,
  logSize,
}: VerifiedEntry): string {
  const moved = `${amountMinor < 0n ? 'A debit' : 'A credit'} of ${String(amountMinor).replace('-', '')} minor units of ${currency}`
  const reference = texts ? ` (${texts.referenceType} ${texts.referenceId})` : ''
  return [
    `${moved} on ${at.toISOString()}${reference} is entry ${sequence} of a wallet that had ${walletSize}.`,
    `The books that have it were signed by ${origin}, at ${logSize} leaves.`,
  ].join('\n')
}
