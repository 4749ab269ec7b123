/** The conformance kit on the command line. It uses only the address of a service, and needs no database. */
import { conform, float, type Conformance } from '../../conform/conform.ts'
import type { Left } from '../../conform/movements.ts'
import type { Settings } from '../../conform/subject.ts'
import { unreachable, type Need, type Verdict } from '../../conform/verdict.ts'
import {
  CommandRefused,
  UsageMistake,
  isSet,
  textOf,
  type Command,
  type Invocation,
  type Io,
  type Reply,
} from './command.ts'
import { isConfirmed, yesFlag } from './ask-first.ts'
import { readLine } from './password.ts'

export const conformCommands: readonly Command[] = [
  {
    name: 'conform',
    database: 'none',
    summary: 'test every statement of the contract on a running service, Billfold or another',
    flags: {
      url: { value: 'URL', about: 'the address of the service', isRequired: true },
      'client-id': { value: 'CLIENTID', about: 'an app with both scopes', isRequired: true },
      'service-user-id': {
        value: 'ID',
        about: 'a user of that app whose wallet is not in use meanwhile',
        isRequired: true,
      },
      'parent-origin': { value: 'ORIGIN', about: 'one of the app’s allowedIframeParents' },
      'other-client-id': { value: 'CLIENTID', about: 'another app, which that user has not signed in through' },
      patient: { about: 'also wait for a session to expire, which takes five minutes' },
      yes: yesFlag('money moves'),
    },
    details: `The secret comes from BILLFOLD_CLIENT_SECRET or stdin, that of the other app from BILLFOLD_OTHER_CLIENT_SECRET.

The test moves money: it credits ${float} to the wallet, debits and credits small amounts and, in a wallet of at most 1,000, for an instant the whole
balance, and undoes exactly what the service acknowledged, with new references. Money that others move meanwhile stays. On a terminal it asks first, unless
there is --yes; elsewhere it starts at once. Ctrl-C undoes too, for at most 30 seconds; a second Ctrl-C ends at once and reports what is left. A service whose
top-up shows a live card key is refused.

The feed of events (GET /api/server/events) is tried where the service has one and the app's events are on; holds (POST /api/server/wallet/hold) where it has them.

Only statements of the contract, of the feed and of holds can be broken. Those that were not tried are counted, with what it takes to try them. Exit codes: 0 everything
that can be tried over HTTP holds; 1 a statement is broken, or money could not be moved back; 2 invalid command line; 3 nothing is broken, but statements were
not tried that could be; 130 interrupted.`,
    examples: [
      'conform --url http://127.0.0.1:3000 --client-id app_0123456789abcdef0123 --service-user-id su_0123456789abcdef0123456789abcdef',
      'conform --url https://wallet.example --client-id app_0123456789abcdef0123 --service-user-id su_0123456789abcdef0123456789abcdef --parent-origin https://shop.example --other-client-id app_0123456789abcdef4567 --patient --yes',
    ],
    run: async (invocation) => {
      const settings = await readSettings(invocation)
      const { io, isJson } = invocation
      await announce(invocation, settings)
      const result = await conform(settings, {
        onStart: ({ id, left }) => {
          io.errors.write(`References start with ${id}.\n`)
          io.onSecondSignal?.(() => describeLeft(left(), id))
        },
        onVerdict: (verdict) => (isJson ? undefined : void io.output.write(`${formatVerdict(verdict)}\n`)),
      })
      if ('problem' in result) throw new CommandRefused(result.problem)
      return replyTo(settings.url, result)
    },
  },
]

async function readSettings(invocation: Invocation): Promise<Settings> {
  const { io } = invocation
  const url = textOf(invocation, 'url')!
  const parentOrigin = textOf(invocation, 'parent-origin')
  const otherId = textOf(invocation, 'other-client-id')
  const otherSecret = io.environment['BILLFOLD_OTHER_CLIENT_SECRET'] ?? ''
  const clientId = textOf(invocation, 'client-id')!
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageMistake('--url: write an address such as http://127.0.0.1:3000.')
  if (parentOrigin !== undefined && URL.parse(parentOrigin)?.origin !== parentOrigin)
    throw new UsageMistake('--parent-origin: write an origin such as https://shop.example.')
  if (otherId === clientId) throw new UsageMistake('--other-client-id: name another app than --client-id.')
  if (otherId !== undefined && otherSecret === '')
    throw new CommandRefused('No secret of the other app: set BILLFOLD_OTHER_CLIENT_SECRET.')
  return {
    url,
    clientId,
    clientSecret: await readSecret(io),
    serviceUserId: textOf(invocation, 'service-user-id')!,
    parentOrigin,
    other: otherId === undefined ? undefined : { clientId: otherId, clientSecret: otherSecret },
    isPatient: isSet(invocation, 'patient'),
    signal: io.signal,
  }
}

async function readSecret({ environment, input }: Io): Promise<string> {
  const secret = environment['BILLFOLD_CLIENT_SECRET'] ?? (input.isTTY ? '' : await readLine(input))
  if (secret === '') throw new CommandRefused('No secret: set BILLFOLD_CLIENT_SECRET, or write it to stdin.')
  return secret
}

/** On stderr, so that stdout has only the result. */
async function announce(invocation: Invocation, { url, clientId, serviceUserId, isPatient }: Settings): Promise<void> {
  const { io } = invocation
  io.errors
    .write(`This test moves money in the wallet of ${serviceUserId} at ${url}, as the app ${clientId}: it credits ${float}, debits and credits small
amounts, for an instant the whole balance if that is at most 1,000, and at the end undoes its own movements, and no others.
${isPatient ? 'It takes five minutes and some seconds.' : 'It takes some seconds.'} Ctrl-C ends it and undoes what has moved so far.\n`)
  if (!(await isConfirmed(invocation))) throw new CommandRefused('Not started; nothing has moved.')
}

export function replyTo(url: string, { verdicts, left, balance, isInterrupted }: Conformance): Reply {
  const count = (kind: Verdict['verdict']) => verdicts.filter(({ verdict }) => verdict === kind).length
  const [passed, failed, notTried] = [count('pass'), count('fail'), count('not tried')]
  const isWhole = verdicts.every(
    ({ verdict, needs }) => verdict !== 'not tried' || (unreachable as readonly (Need | undefined)[]).includes(needs),
  )
  const json = { url, passed, failed, notTried, isInterrupted, balance, left, statements: verdicts }
  const text = [
    '',
    ...(isInterrupted ? ['Interrupted.'] : []),
    `${passed} hold, ${failed} broken, ${notTried} not tried${notTried > 0 ? ` (${describeNeeds(verdicts)})` : ''}.`,
    left.length === 0 ? 'Own movements: all undone, their sum is 0.' : describeLeft(left).trimEnd(),
    describeBalance(balance),
  ].join('\n')
  if (isInterrupted) return { json, text, exitCode: 130 }
  if (failed > 0 || left.length > 0) return { json, text, exitCode: 1 }
  return { json, text, exitCode: isWhole ? 0 : 3 }
}

function describeNeeds(verdicts: readonly Verdict[]): string {
  const open = verdicts.filter(({ verdict }) => verdict === 'not tried')
  const byNeed = Map.groupBy(open, ({ needs }) => needs)
  return [...byNeed]
    .map(
      ([need, { length }]) =>
        `${length} ${need ? `${length === 1 ? 'needs' : 'need'} ${need}` : 'for the reason above'}`,
    )
    .join(', ')
}

function describeBalance({ before, after }: Conformance['balance']): string {
  if (after === undefined) return `The balance was ${before}; the service does not say what it is now.`
  if (after === before) return `The balance is as before: ${after}.`
  return `The balance was ${before} and is ${after}: another caller, or a fault of the service, moved the difference. Statements about balances may be broken by that.`
}

function describeLeft(left: readonly Left[], run?: string): string {
  if (left.length === 0) return 'Nothing is left: all own movements are undone.\n'
  const lines = left.map(({ clientId, serviceUserId, sum, unknown }) => {
    const references = run ? `, the sum of its references ${run}-…` : ''
    const known = `NOT UNDONE: ${sum > 0 ? '+' : ''}${sum} in the wallet of ${serviceUserId}, by ${clientId}${references}`
    const open = unknown.map(({ amount, reference }) => `\n  outcome unknown: ${amount} with ${reference}`)
    return `${known}${open.join('')}\n`
  })
  return lines.join('')
}

const marks: Record<Verdict['verdict'], string> = { pass: 'ok  ', fail: 'FAIL', 'not tried': '–   ' }

function formatVerdict({ section, says, verdict, why }: Verdict): string {
  return `${marks[verdict]}  §${section.padEnd(12)} ${says}${why === undefined ? '' : `\n                    ${verdict === 'fail' ? '' : 'not tried: '}${why}`}`
}
