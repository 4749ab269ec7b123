/** The origin doctor on the command line. */
import type { Check, CheckState } from '../actions/apps/examine-embedding.ts'
import { diagnoseEmbedding } from '../actions/apps/read-embedding.ts'
import { UsageMistake, textOf, type Command } from './command.ts'
import { withService } from './data.ts'

export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    summary: 'why a page cannot embed the widget, and the line to change',
    positionals: ['page-url'],
    flags: {
      app: { value: 'CLIENTID', about: 'the app; found by the page’s origin when left out' },
      'parent-origin': { value: 'ORIGIN', about: 'the parentOrigin that the backend sends with a session' },
      outer: { value: 'URL', about: 'a page around that page, when it is itself in a frame' },
    },
    details: `The page is read from here, so that its headers and its frame can be looked at; nothing of it is run. The exit code is 1
when a check fails.`,
    examples: ['doctor https://shop.example/wallet', 'doctor http://localhost:3001/ --app app_0123456789abcdef0123'],
    run: async (invocation) =>
      await withService(invocation, async (service) => {
        const [app, parentOrigin, outer] = [
          textOf(invocation, 'app'),
          textOf(invocation, 'parent-origin'),
          textOf(invocation, 'outer'),
        ]
        const diagnosis = await diagnoseEmbedding(service, {
          page: invocation.positionals[0]!,
          ...(app && { clientId: app }),
          ...(parentOrigin && { parentOrigin }),
          ...(outer && { outer }),
        })
        if (diagnosis.problem !== undefined) throw new UsageMistake(diagnosis.problem)
        const { url, checks } = diagnosis
        const isGood = checks.every((check) => check.state !== 'bad')
        const json = { page: url.href, clientId: diagnosis.app?.clientId ?? null, isGood, checks }
        return { json, text: checks.map(shown).join('\n'), exitCode: isGood ? 0 : 1 }
      }),
  },
]

const marks: Record<CheckState, string> = { good: 'ok  ', warn: 'warn', bad: 'FAIL', unknown: '–   ' }

function shown({ name, state, text, fix }: Check): string {
  const lines = [`${marks[state]}  ${name}: ${text}`]
  if (fix && state !== 'good') lines.push(...fix.split('\n').map((line) => `        ${line}`))
  return lines.join('\n')
}
