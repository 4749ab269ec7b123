/** The doctor on the command line: checks the whole deployment, or one page that embeds the widget. */
import type { Check, CheckState } from '../actions/apps/examine-embedding.ts'
import { diagnoseEmbedding } from '../actions/apps/read-embedding.ts'
import { bySeverity, examineDeployment } from '../actions/deployment/examine-deployment.ts'
import { ConfigError, findMisspelt, parseConfig } from '../config.ts'
import { UsageMistake, textOf, type Command, type Invocation, type Reply } from './command.ts'
import { withService } from './data.ts'

export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    database: 'reads',
    summary: 'find what is wrong with this deployment, or why a page cannot embed the widget, and how to fix it',
    positionals: ['[page-url]'],
    flags: {
      app: { value: 'CLIENTID', about: 'the app of the page (default: found by the page’s origin)' },
      'parent-origin': { value: 'ORIGIN', about: 'the parentOrigin that the backend sends with a session' },
      outer: { value: 'URL', about: 'the page that frames that page, if there is one' },
    },
    details: `Without a page it checks the whole deployment and shows the worst first: settings, database, durability, rights, connections,
clock, nodes of a cluster, disk, books, events, webhooks, mail server, card processor and its webhook, proxies and certificate of PUBLIC_URL. It changes nothing.
Run it with the settings of the service. With a page, it reads that page and checks its headers and its frame, without running
its scripts. The exit code is 1 when a check fails.`,
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
  if (given) throw new UsageMistake(`--${given} is for checking a page: add the address of the page.`)
  const { environment } = invocation.io
  const checks = await settingsOrAll(environment)
  const count = (state: CheckState) => checks.filter((check) => check.state === state).length
  const sentence = `${count('bad')} failed, ${count('warn')} warnings, ${count('unknown')} unknown, ${count('good')} good.`
  return checksReply(checks, {}, `${checks.map(formatCheck).join('\n')}\n\n${sentence}`)
}

/** If the settings are invalid, nothing else can be checked. */
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
      text: `${name} is unknown, and ignored.`,
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
    return checksReply(checks, about, checks.map(formatCheck).join('\n'))
  })
}

function checksReply(checks: readonly Check[], about: object, text: string): Reply {
  const isGood = checks.every((check) => check.state !== 'bad')
  return { json: { ...about, isGood, checks }, text, exitCode: isGood ? 0 : 1 }
}

const marks: Record<CheckState, string> = { good: 'ok  ', warn: 'warn', bad: 'FAIL', unknown: '–   ' }

export function formatCheck({ name, state, text, fix }: Check): string {
  const lines = [`${marks[state]}  ${name}: ${text}`]
  if (fix && state !== 'good') lines.push(...fix.split('\n').map((line) => `        ${line}`))
  return lines.join('\n')
}
