/** Commands that answer a user's request by post: the data as a file, and the deletion of the account. */
import type { Writable } from 'node:stream'
import { exportDataFor } from '../actions/people/export-data.ts'
import { askDeletion, describeKept, type AskedDeletion } from '../actions/people/request-deletion.ts'
import type { Service } from '../actions/service.ts'
import { findWallet } from '../store/wallets.ts'
import { CommandRefused, UsageMistake, actorOf, textOf, type Command, type Invocation, type Reply } from './command.ts'
import { withService } from './data.ts'
import { formatFields, formatTime } from './table.ts'
import { findWalletId } from './wallet-show.ts'
import { reasonOf } from './wallet.ts'
import { writeWholeFile } from './whole-file.ts'

const name = 'Name the user by email, user id or serviceUserId.'
const reason = {
  value: 'TEXT',
  about: 'how the request came and how you checked who sent it, for the audit log',
  isRequired: true,
}
const gone = 'The account was deleted: there is no personal data any more.'

export const userRequestCommands: readonly Command[] = [
  {
    name: 'user export',
    database: 'writes',
    summary: 'write all data about a user, the file of “My data”; the user is mailed about it',
    positionals: ['user'],
    flags: {
      reason,
      out: { value: 'FILE', about: 'write this file, readable only by you; without it the data goes to stdout' },
    },
    details: `${name} The file has its name only when it is complete, and overwrites no other. The audit record and the
mail to the user come before the first byte. At most 20 requests of users are answered in an hour on the command line, deletions included.`,
    examples: [
      'user export ann@example.com --reason "letter of 3 March, passport seen" --out ann.json',
      'user export ann@example.com --reason "letter of 3 March, passport seen" | gpg --encrypt -r ann > ann.json.gpg',
    ],
    run: async (invocation) => {
      const file = textOf(invocation, 'out')
      if (file === '') throw new UsageMistake('--out: write the name of a file.')
      if (file === undefined && invocation.isJson)
        throw new UsageMistake('--json and the data cannot both be on stdout: name a file with --out.')
      if (file === undefined && invocation.io.output.isTTY)
        throw new UsageMistake('The data is not for a terminal: name a file with --out, or pipe it with |.')
      const order = { text: invocation.positionals[0]!, reason: reasonOf(invocation) }
      return await withService(invocation, async (service) => {
        const userId = await findWalletId(service, order.text)
        const write = (output: Writable) => writeData(service, invocation, { userId, reason: order.reason }, output)
        if (file === undefined) {
          await write(invocation.io.output)
          return { json: {}, text: undefined }
        }
        const bytes = await writeWholeFile(file, invocation.io.signal, write)
        return { json: { userId, file, bytes }, text: `${file} has the data of user ${userId}.` }
      })
    },
  },
  {
    name: 'user delete',
    database: 'writes',
    summary: 'request the deletion of a user; an operator approves it in the admin area',
    positionals: ['user'],
    flags: { reason },
    details: `${name} This command deletes nothing: it mails the user, who can object, and the request waits
for 7 days on the page of the wallet in the admin area, until an operator with the role support or admin approves or declines it. It is refused
while the wallet holds money, is below zero or frozen, or has an open dispute.`,
    examples: ['user delete ann@example.com --reason "letter of 3 March, passport seen"'],
    run: async (invocation) => {
      const text = reasonOf(invocation)
      return await withService(invocation, async (service) => {
        const userId = await findWalletId(service, invocation.positionals[0]!)
        const asked = await askDeletion(service, actorOf(invocation), { userId, reason: text })
        return await askedReply(service, userId, asked)
      })
    },
  },
]

/** Returns how many bytes were written. */
async function writeData(
  service: Service,
  invocation: Invocation,
  order: { userId: string; reason: string },
  output: Writable,
): Promise<number> {
  const exported = await exportDataFor(service, actorOf(invocation), order)
  if (exported.kind === 'limited') throw tooMany(exported.retryAfterSeconds)
  if (exported.kind === 'gone') throw new CommandRefused(gone)
  let bytes = 0
  for await (const chunk of exported.chunks) {
    invocation.io.signal.throwIfAborted()
    bytes += Buffer.byteLength(chunk)
    await new Promise<void>((resolve, reject) => output.write(chunk, (error) => (error ? reject(error) : resolve())))
  }
  return bytes
}

function tooMany(seconds: number): CommandRefused {
  return new CommandRefused(`Too many requests of users were answered in the last hour. Try again in ${seconds} s.`)
}

async function askedReply(service: Service, userId: string, asked: AskedDeletion): Promise<Reply> {
  if (asked.kind === 'limited') throw tooMany(asked.retryAfterSeconds)
  if (asked.kind === 'kept') {
    const { balanceMinor } = (await findWallet(service.db.pool, userId))!
    const text = describeKept(asked.reason, balanceMinor, service.config.currency)
    throw new CommandRefused(`The account cannot be deleted now. ${text}`)
  }
  if (asked.kind !== 'waiting') throw new CommandRefused(problems[asked.kind])
  const { id, state, expiresAt } = asked.deletion
  return {
    json: { deletionId: id, userId, state, expiresAt },
    text: formatFields([
      ['deletion', id],
      ['user', userId],
      ['state', 'waits for an operator; nothing is deleted yet'],
      ['expires', formatTime(expiresAt)],
    ]),
  }
}

const problems = {
  gone,
  'another-waits': 'A request to delete this account already waits for an operator.',
  'too-many-wait': 'Too many deletions wait. Decide on some of them in the admin area first.',
} as const
