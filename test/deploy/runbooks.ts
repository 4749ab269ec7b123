/** The boxes of docs/operations.md that have a name, and the table that says how many steps each trouble takes. */
import { readFile } from 'node:fs/promises'

const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')

/** The lines of the box, as they are typed. */
export function box(name: string): string[] {
  const found = new RegExp(`^\`\`\`sh ${name}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1]
  if (found === undefined) throw new Error(`docs/operations.md has no box ${name}`)
  return found.trimEnd().split('\n')
}

/** By the trouble's heading: steps on the command line, and in the admin area. */
export function stepsOf(trouble: string): { commands: number; pages: number } {
  const row = new RegExp(`^\\| \\[${trouble}\\]\\([^)]*\\) *\\| (\\d+) *\\| (\\d+) *\\|$`, 'm').exec(text)
  if (!row) throw new Error(`docs/operations.md does not count the steps of: ${trouble}`)
  return { commands: Number(row[1]), pages: Number(row[2]) }
}
