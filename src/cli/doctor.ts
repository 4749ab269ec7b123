/** The doctors on the command line: of the whole deployment, and of one page that embeds the widget. */
import type { Check, CheckState } from '../actions/apps/examine-embedding.ts'
import { diagnoseEmbedding } from '../actions/apps/read-embedding.ts'
import { bySeverity, examineDeployment } from '../actions/deployment/examine-deployment.ts'
import { ConfigError, findMisspelt, parseConfig } from '../config.ts'
import { UsageMistake, textOf, type Command, type Invocation, type Reply } from './command.ts'
import { withService } from './data.ts'

export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    summary: 'what is wrong with this deployment, or why a page cannot embed the widget; and what to do',
    positionals: ['[page-url]'],
    flags: {
      app: { value: 'CLIENTID', about: 'the page’s app; found by its origin when left out' },
      'parent-origin': { value: 'ORIGIN', about: 'the parentOrigin that the backend sends with a session' },
      outer: { value: 'URL', about: 'a page around that page, when it is itself in a frame' },
    },
    details: `Without a page it looks at the whole deployment, the worst first: settings, database, durability, rights, connections,
clock, disk, books, mail server, card processor and its webhook, proxies and certificate of PUBLIC_URL. It changes nothing.
Run it with the settings of the service. With a page, that page is read from here, so that its headers and its frame can be
looked at; nothing of it is run. The exit code is 1 when a check fails.`,
    examples: [
      'doctor',
      'doctor --json',
      'doctor https://shop.example/wallet',
      'doctor http://localhost:3001/ --app app_0123456789abcdef0123',
    ],
    run: async (invocation) => {
      const [page] = invocation.positionals
      return page === undefined ? await examineAll(invocation) : await examinePage(invocation, page)
    },
  },
]

const pageFlags = ['app', 'parent-origin', 'outer']

async function examineAll(invocation: Invocation): Promise<Reply> {
  const given = pageFlags.find((flag) => textOf(invocation, flag) !== undefined)
  if (given) throw new UsageMistake(`--${given} belongs to a page: write its address too.`)
  const { environment } = invocation.io
  const checks = await settingsOrAll(environment)
  const count = (state: CheckState) => checks.filter((check) => check.state === state).length
  const sentence = `${count('bad')} to repair, ${count('warn')} to look at, ${count('unknown')} not known, ${count('good')} good.`
  return replyOf(checks, {}, `${checks.map(shown).join('\n')}\n\n${sentence}`)
}

/** With a mistake in the settings nobody knows what else to look at. */
async function settingsOrAll(environment: Invocation['io']['environment']): Promise<Check[]> {
  const misspelt = findMisspelt(environment)
  try {
    return await examineDeployment(parseConfig(environment), misspelt)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const mistakes = error.mistakes.map((text): Check => ({ name: 'Settings', state: 'bad', text }))
    const names = misspelt.map(({ name, meant }): Check => ({
      name: 'Settings',
      state: 'warn',
      text: `${name} is not known, and left out.`,
      fix: `Write ${meant}.`,
    }))
    return bySeverity([...mistakes, ...names])
  }
}

async function examinePage(invocation: Invocation, page: string): Promise<Reply> {
  return await withService(invocation, async (service) => {
    const [app, parentOrigin, outer] = pageFlags.map((flag) => textOf(invocation, flag))
    const diagnosis = await diagnoseEmbedding(service, {
      page,
      ...(app && { clientId: app }),
      ...(parentOrigin && { parentOrigin }),
      ...(outer && { outer }),
    })
    if (diagnosis.problem !== undefined) throw new UsageMistake(diagnosis.problem)
    const { url, checks } = diagnosis
    const about = { page: url.href, clientId: diagnosis.app?.clientId ?? null }
    return replyOf(checks, about, checks.map(shown).join('\n'))
  })
}

function replyOf(checks: readonly Check[], about: object, text: string): Reply {
  const isGood = checks.every((check) => check.state !== 'bad')
  return { json: { ...about, isGood, checks }, text, exitCode: isGood ? 0 : 1 }
}

const marks: Record<CheckState, string> = { good: 'ok  ', warn: 'warn', bad: 'FAIL', unknown: '–   ' }

function shown({ name, state, text, fix }: Check): string {
  const lines = [`${marks[state]}  ${name}: ${text}`]
  if (fix && state !== 'good') lines.push(...fix.split('\n').map((line) => `        ${line}`))
  return lines.join('\n')
}
