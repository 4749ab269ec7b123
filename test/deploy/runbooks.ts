/** The named code blocks of docs/operations, and the table that says how many steps each problem takes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callCommand } from '../command.ts'

const folder = new URL('../../docs/operations/', import.meta.url)
type Page = { readonly name: string; readonly text: string }
export const pages: readonly Page[] = readdirSync(folder)
  .toSorted()
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))
const runbooks = pages.find(({ name }) => name === 'runbooks.md')!.text
const text = pages.map((page) => page.text).join('\n')

type Block = { readonly page: string; readonly name: string; readonly lines: readonly string[] }
/** Every block of commands or statements, in order. */
export const blocks: readonly Block[] = pages.flatMap((page) =>
  [...page.text.matchAll(/^```(?:sh|sql)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(([, name = '', body]) => ({
    page: page.name,
    name,
    lines: body!.trimEnd().split('\n'),
  })),
)

/** The lines of a named code block. */
export function box(name: string, language = 'sh'): string[] {
  const found = new RegExp(`^\`\`\`${language} ${name}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1]
  if (found === undefined) throw new Error(`docs/operations has no box ${name}`)
  return found.trimEnd().split('\n')
}

export type CommandResult = { readonly exitCode: number; readonly json: Record<string, unknown> }

/** Runs the commands of a named code block with the given variables, and returns the result of each. */
export async function play(
  name: string,
  environment: Record<string, string>,
  variables: Record<string, string> = {},
): Promise<CommandResult[]> {
  const results: CommandResult[] = []
  for (const line of box(name)) {
    const [, typed] = /^npx billfold (.*)$/.exec(line) ?? []
    if (typed === undefined) throw new Error(`not a command of ours: ${line}`)
    const words = [...typed.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    const given = words.map((word) => word.replace(/\$([A-Z_]+)/g, (_, variable: string) => variables[variable] ?? '?'))
    // The export goes into a folder that the test removes.
    if (given[0] === 'export') given[1] = join(variables['FOLDER']!, given[1]!)
    const { exitCode, stdout, stderr } = await callCommand([...given, '--json'], environment)
    if (stderr !== '') throw new Error(`${line}: ${stderr}`)
    results.push({ exitCode, json: JSON.parse(stdout) as CommandResult['json'] })
  }
  return results
}

/** For a heading of the runbooks: the steps on the command line, and in the admin area. */
export function stepsOf(trouble: string): { commands: number; pages: number } {
  const row = new RegExp(`^\\| \\[${trouble}\\]\\([^)]*\\) *\\| (\\d+) *\\| (\\d+) *\\|$`, 'm').exec(runbooks)
  if (!row) throw new Error(`docs/operations/runbooks.md does not count the steps of: ${trouble}`)
  return { commands: Number(row[1]), pages: Number(row[2]) }
}
