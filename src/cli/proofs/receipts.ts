/** Proofs and the log on the command line: a receipt is checked without a database, the books against a signed state of the log. */
import { compareProofs, verifyProof } from '../../../sdk/verify.ts'
import { describeLog } from '../../actions/proofs/describe-log.ts'
import { proveEntry } from '../../actions/proofs/prove-entry.ts'
import { publishEverywhere, type PublishResult } from '../../actions/proofs/publish.ts'
import { isDay } from '../../actions/apps/settle-app.ts'
import { provePosition, type PositionProofResult } from '../../actions/proofs/prove-position.ts'
import { counterAccountOfApp } from '../../ledger/reference.ts'
import { CommandRefused, UsageMistake, textOf, textsOf, wholeNumber } from '../command.ts'
import type { Command, Invocation, Reply } from '../command.ts'
import { withData, withService } from '../data.ts'
import { provenJson, sentenceOf } from './sentences.ts'
import { checkpointFlags, compareWithSigned, keyFlag, readSigned, readText } from './signed-books.ts'

export const receiptCommands: readonly Command[] = [
  {
    name: 'verify-receipt',
    database: 'none',
    positionals: ['file', '[earlier]'],
    summary:
      'check the proof of a payment or of a position, without the service and without a database; exit code 1 if it is not right',
    flags: {
      key: { ...keyFlag, isRequired: true },
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
      const { isCheckpoint } = verdict
      const said = { isRight: true, ...provenJson(verdict), ...(isCheckpoint !== undefined && { isCheckpoint }) }
      const sentence = sentenceOf(verdict)
      const text = isCheckpoint === undefined ? sentence : `${sentence}\n${checkpointTexts[String(isCheckpoint)]}`
      if (earlier === undefined) return { json: said, text }
      const history = await compareProofs([earlier, file], { keys })
      return {
        json: { ...said, history: history.kind, message: history.message },
        text: `${text}\n${history.message}`,
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
    positionals: ['[wallet]', '[sequence]'],
    summary: 'write the proof of one entry, or of an app’s position at the end of a day, to stdout',
    flags: {
      since: { value: 'N', about: 'the number of entries that an earlier proof of this wallet names' },
      day: { value: 'DAY', about: 'in place of an entry: a day in UTC, such as 2026-03-31' },
      app: { value: 'CLIENT_ID', about: 'with --day: the app whose position it proves' },
    },
    details: `An entry that is newer than the last seal is sealed first. A day is sealed some hours after its end.`,
    examples: [
      'log prove 0199a0b0-0000-7000-8000-000000000000 17',
      'log prove --day 2026-03-31 --app app_0123456789abcdef0123',
    ],
    run: async (invocation) => {
      if (textOf(invocation, 'day') !== undefined || textOf(invocation, 'app') !== undefined)
        return await writePosition(invocation)
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
      key: { ...checkpointFlags.key, isRequired: true },
      checkpoint: { ...checkpointFlags.checkpoint, isRequired: true },
    },
    details: `Computes every sealed entry, audit record and day again from the database, and compares them with the state in the file. It names the
wallet and the entry, the audit record, or the day and the account that is not what was sealed. Run verify too: it checks what the log does not
have, such as balances.`,
    examples: [
      'log verify --checkpoint /mnt/other/checkpoint --key wallet.example.com/books/2b5c7b0e8f0a1d3c+4f2a91c0+AQ…',
    ],
    run: async (invocation) =>
      await withData(invocation, async ({ connection, config }) => {
        const signed = await readSigned(invocation, textOf(invocation, 'checkpoint')!)
        const { json, text, isExact } = await compareWithSigned(invocation, connection, signed, config.currency)
        return { json, text, exitCode: isExact ? 0 : 1 }
      }),
  },
  {
    name: 'log publish',
    database: 'writes',
    summary:
      'publish the newest signed state of the log to every target of CHECKPOINTS now; exit code 1 if one does not have it',
    details: `The service does this by itself after each signature, at most once a minute for each target, and tries again where a target fails.`,
    examples: ['log publish'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const results = await publishEverywhere(service)
        if (results.length === 0) throw new CommandRefused('CHECKPOINTS names no target.')
        const shown = results.map(([target, result], i) => ({ ...result, target: i + 1, place: target.kind }))
        return {
          json: { targets: shown },
          text: results
            .map(([target, result], i) => `Target ${i + 1} (${target.kind}): ${publishText(result)}`)
            .join('\n'),
          exitCode: results.every(([, { kind }]) => kind === 'published') ? 0 : 1,
        }
      }),
  },
]

async function writePosition(invocation: Invocation): Promise<Reply> {
  const { positionals } = invocation
  const [day, app, since] = ['day', 'app', 'since'].map((flag) => textOf(invocation, flag))
  if (positionals.length > 0 || since !== undefined)
    throw new UsageMistake('--day: write it with --app, and without an entry.')
  if (day === undefined || !isDay(day)) throw new UsageMistake('--day: write a day such as 2026-03-31.')
  if (!app) throw new UsageMistake('--app: write the clientId of an app.')
  return await withService(invocation, async (service) => {
    const result = await provePosition(service, counterAccountOfApp(app), day)
    if (result.kind !== 'proof') throw new CommandRefused(positionRefusal(result))
    return { json: { proof: result.file }, text: result.file.trimEnd() }
  })
}

function positionRefusal(result: Exclude<PositionProofResult, { kind: 'proof' }>): string {
  return result.kind === 'skipped'
    ? `The books were not sealed at the end of this day. The next sealed day is ${result.next}.`
    : positionRefusals[result.kind]
}

const positionRefusals = {
  'not-sealed': 'The books of this day are not sealed yet: a day is sealed some hours after its end.',
  'no-entries': 'There is no such app, or it had no entries when this day ended.',
  'not-yet': 'The day is sealed and not signed yet. Try again after the next seal.',
  contradiction: 'The position is not what was sealed.',
} as const

const refusals = {
  'not-found': 'There is no such entry.',
  archived: 'The proof needs entries that are in the archive: npx billfold archive restore brings them back.',
  'not-since': 'The wallet has fewer sealed entries than --since.',
  'not-yet':
    'The entry cannot be sealed now: other processes seal, the check of this wallet found a fault, or the key is missing.',
  contradiction: 'The entry is not what was sealed.',
} as const

const checkpointTexts: Record<string, string> = {
  true: 'The given checkpoint is the same.',
  false: 'The given checkpoint proves nothing about this: it is of another log or size, or none of the keys signed it.',
}

function publishText(result: PublishResult): string {
  if (result.kind === 'published') return `it has the state of ${result.size} leaves.`
  if (result.kind === 'nothing-signed') return 'nothing is signed yet.'
  if (result.kind === 'wait') return 'another attempt has not ended.'
  return result.kind === 'contradiction' ? `it contradicts the books. ${result.error}` : result.error
}
