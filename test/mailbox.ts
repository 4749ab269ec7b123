/** The mails of a service without a mail server: files in its data folder. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Service } from '../src/actions/service.ts'

/** Whole texts with their headers, oldest first. */
export async function mailsTo({ config }: Pick<Service, 'config'>, email: string): Promise<string[]> {
  const folder = join(config.dataDir, 'mail')
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.txt')).toSorted()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return texts.filter((text) => text.includes(`\nTo: ${email}\n`))
}

/** Waits for the `count`th mail with a link to this address, and returns the path of its link. */
export async function mailedLink(service: Pick<Service, 'config'>, email: string, count = 1): Promise<string> {
  for (let tries = 0; tries < 3_000; tries++) {
    const links = (await mailsTo(service, email)).flatMap((text) => /\/admin\/welcome\?token=[\w-]+/.exec(text) ?? [])
    if (links.length >= count) return links[count - 1]!
    await Bun.sleep(20)
  }
  throw new Error(`no link was mailed to ${email}`)
}
