/** The conformance kit on the command line. It uses only the address of a service, and needs no database. */
import { conform } from '../../conform/conform.ts'
import type { Verdict } from '../../conform/verdict.ts'
import { CommandRefused, UsageMistake, textOf, type Command, type Io } from './command.ts'
import { readLine } from './password.ts'

export const conformCommands: readonly Command[] = [
  {
    name: 'conform',
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
    },
    details: `The secret comes from BILLFOLD_CLIENT_SECRET or stdin. The test moves small whole amounts with its own references, and restores the
balance at the end. Only statements of the contract can fail; those that need a browser or five minutes are listed as not tried.
The exit code is 1 when a statement fails.`,
    examples: [
      'conform --url http://127.0.0.1:3000 --client-id app_0123456789abcdef0123 --service-user-id su_0123456789abcdef0123456789abcdef',
    ],
    run: async (invocation) => {
      const { io, isJson } = invocation
      const url = textOf(invocation, 'url')!
      const parentOrigin = textOf(invocation, 'parent-origin')
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
        throw new UsageMistake('--url: write an address such as http://127.0.0.1:3000.')
      if (parentOrigin !== undefined && URL.parse(parentOrigin)?.origin !== parentOrigin)
        throw new UsageMistake('--parent-origin: write an origin such as https://shop.example.')
      const settings = {
        url,
        clientId: textOf(invocation, 'client-id')!,
        clientSecret: await readSecret(io),
        serviceUserId: textOf(invocation, 'service-user-id')!,
        parentOrigin,
        signal: io.signal,
      }
      const report = (verdict: Verdict) => (isJson ? undefined : void io.output.write(`${formatVerdict(verdict)}\n`))
      const result = await conform(settings, report)
      if ('problem' in result) throw new CommandRefused(result.problem)
      const { verdicts, balance } = result
      const count = (kind: Verdict['verdict']) => verdicts.filter(({ verdict }) => verdict === kind).length
      const [passed, failed, notTried] = [count('pass'), count('fail'), count('not tried')]
      const money =
        balance.after === balance.before
          ? `as before: ${balance.after}`
          : `${balance.before} before, ${balance.after ?? 'unknown'} now`
      return {
        json: { url, passed, failed, notTried, balance, statements: verdicts },
        text: `\n${verdicts.length} statements: ${passed} passed, ${failed} failed, ${notTried} could not be tried. The balance is ${money}.`,
        exitCode: failed === 0 ? 0 : 1,
      }
    },
  },
]

async function readSecret({ environment, input }: Io): Promise<string> {
  const secret = environment['BILLFOLD_CLIENT_SECRET'] ?? (input.isTTY ? '' : await readLine(input))
  if (secret === '') throw new CommandRefused('No secret: set BILLFOLD_CLIENT_SECRET, or write it to stdin.')
  return secret
}

const marks: Record<Verdict['verdict'], string> = { pass: 'ok  ', fail: 'FAIL', 'not tried': '–   ' }

function formatVerdict({ section, says, verdict, why }: Verdict): string {
  return `${marks[verdict]}  §${section.padEnd(12)} ${says}${why === undefined ? '' : `\n                    ${verdict === 'fail' ? '' : 'not tried: '}${why}`}`
}
