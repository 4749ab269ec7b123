/** The named code blocks of docs/operations, and the table that says how many steps each problem takes. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callCommand } from '../command.ts'

const folder = new URL('../../docs/operations/', import.meta.url)
const readPage = async (name: string) => await readFile(new URL(name, folder), 'utf8')
const runbooks = await readPage('runbooks.md')
const text = runbooks + (await readPage('backup.md'))

/** The lines of the box, as they are typed. */
export function box(name: string, language = 'sh'): string[] {
  const found = new RegExp(`^\`\`\`${language} ${name}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1]
  if (found === undefined) throw new Error(`docs/operations has no box ${name}`)
  return found.trimEnd().split('\n')
}

export type Said = { readonly exitCode: number; readonly json: Record<string, unknown> }

/** Types the lines of a box, with values for its variables, and returns what each printed. */
export async function play(
  name: string,
  environment: Record<string, string>,
  variables: Record<string, string> = {},
): Promise<Said[]> {
  const said: Said[] = []
  for (const line of box(name)) {
    const [, typed] = /^npx billfold (.*)$/.exec(line) ?? []
    if (typed === undefined) throw new Error(`not a command of ours: ${line}`)
    const words = [...typed.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
    const given = words.map((word) => word.replace(/\$([A-Z_]+)/g, (_, variable: string) => variables[variable] ?? '?'))
    // What is kept is kept where it goes again.
    if (given[0] === 'export') given[1] = join(variables['FOLDER']!, given[1]!)
    const { exitCode, stdout, stderr } = await callCommand([...given, '--json'], environment)
    if (stderr !== '') throw new Error(`${line}: ${stderr}`)
    said.push({ exitCode, json: JSON.parse(stdout) as Said['json'] })
  }
  return said
}

/** By the trouble's heading: steps on the command line, and in the admin area. */
export function stepsOf(trouble: string): { commands: number; pages: number } {
  const row = new RegExp(`^\\| \\[${trouble}\\]\\([^)]*\\) *\\| (\\d+) *\\| (\\d+) *\\|$`, 'm').exec(runbooks)
  if (!row) throw new Error(`docs/operations/runbooks.md does not count the steps of: ${trouble}`)
  return { commands: Number(row[1]), pages: Number(row[2]) }
}
