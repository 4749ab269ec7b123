/** What the README says, done word for word: only the port and the data folder are this test's own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { startProcess, type ServiceProcess } from './process.ts'

setDefaultTimeout(180_000)

const root = new URL('..', import.meta.url).pathname

let readme: string
let dataDir: string
let service: ServiceProcess

beforeAll(async () => {
  readme = await readFile(join(root, 'README.md'), 'utf8')
  dataDir = await mkdtemp(join(tmpdir(), 'billfold-readme-'))
  service = await startProcess({ DATA_DIR: dataDir, DEMO: '1' })
})
afterAll(async () => {
  await service.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const blocks = (language: string, heading: string) => {
  const section = readme.split(/^## /m).find((part) => part.startsWith(heading))!
  return [...section.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, code]) => code!)
}

test('the README’s first debit and its replay answer what it says', async () => {
  const script = blocks('sh', 'Your first debit').join('\necho\n').replaceAll('http://127.0.0.1:3000', service.url)
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect([await child.exited, err.replace(/^npm (warn|notice).*$/gm, '').trim()]).toEqual([0, ''])
  const answers = out.trim().split('\n').slice(-2)
  const hidden = answers.map((line) => line.replace(/txn_[0-9a-f]{32}/, 'txn_…'))
  expect(hidden.join('\n')).toBe(blocks('json', 'Your first debit')[0]!.trim())
})

test('in development the service prints the address of a shop that is really there', async () => {
  await eventually(() => service.output().includes('The demo shop'), true)
  const shop = /The demo shop, with the wallet in it\s+(\S+)/.exec(service.output())?.[1]
  expect(shop).toStartWith('http://localhost:')
  expect((await fetch(shop!)).status).toBe(200)
})

test('the addresses of the SDK that the service prints are those of an archive and of the script with that integrity', async () => {
  await eventually(() => service.output().includes('The admin area'), true)
  const archive = /npm install (\S+)/.exec(service.output())?.[1]
  expect(readme.replaceAll('http://127.0.0.1:3000', service.url)).toContain(`npm install ${archive}\``)
  expect(Buffer.from(await (await fetch(archive!)).bytes()).toString('hex', 0, 2)).toBe('1f8b')
  const scripts = [...service.output().matchAll(/<script src="([^"]+)"(?: integrity="([^"]+)")?/g)]
  expect(scripts.map(([, src]) => src!.replace(/\.\w{12}/, ''))).toEqual(
    Array(2).fill(`${service.url}/sdk/billfold.js`),
  )
  const integrity = scripts[1]![2]!
  for (const [, src] of scripts) {
    const hash = createHash('sha384').update(await (await fetch(src!)).bytes())
    expect(`sha384-${hash.digest('base64')}`).toBe(integrity)
  }
})

test('every file the README points to is there', async () => {
  for (const document of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']) {
    const text = await readFile(join(root, document), 'utf8')
    const targets = [...text.matchAll(/\]\(([^)#]+?)(?:#[^)]*)?\)/g)].map(([, target]) => target!)
    for (const target of targets.filter((name) => !/^[a-z]+:/.test(name))) {
      expect([document, target, (await stat(join(root, target)).catch(() => undefined)) !== undefined]).toEqual([
        document,
        target,
        true,
      ])
    }
  }
})

test('every path on the README’s map is there', async () => {
  const map = blocks('', 'Find your way')[0]!
  for (const [, path] of map.matchAll(/^(\S+)\s{2,}/gm))
    expect([path, (await stat(join(root, path!))) !== undefined]).toEqual([path!, true])
})

test('the scripts the README names are the scripts there are', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const text = `${readme}${await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')}`
  for (const [, name] of text.matchAll(/npm run (\w+)/g)) expect(Object.keys(scripts)).toContain(name!)
})
