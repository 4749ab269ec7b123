/** The sources → `dist`: ESM and CommonJS with their types, and one file for a `<script>` tag. */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const folder = import.meta.dir
const entries = ['contract', 'server', 'browser'].map((name) => join(folder, `${name}.ts`))

export async function buildSdk(outDir = join(folder, 'dist')): Promise<void> {
  await rm(outDir, { recursive: true, force: true })
  await mkdir(outDir, { recursive: true })
  await bundle({ entrypoints: entries, format: 'esm', naming: '[name].js', outdir: outDir })
  await bundle({ entrypoints: entries, format: 'cjs', naming: '[name].cjs', outdir: outDir })
  await bundle({
    entrypoints: [join(folder, 'browser/script.ts')],
    format: 'iife',
    naming: 'billfold.js',
    outdir: outDir,
    minify: true,
  })
  await writeTypes(outDir)
}

async function bundle(config: Bun.BuildConfig): Promise<void> {
  // Neutral code: it names no module of Node, so what is built for browsers runs in both.
  const result = await Bun.build({ target: 'browser', ...config })
  if (!result.success) throw new AggregateError(result.logs, 'The SDK does not bundle.')
}

async function writeTypes(outDir: string): Promise<void> {
  const tsc = join(folder, '../node_modules/.bin/tsc')
  const run = Bun.spawn([tsc, '-p', join(folder, 'tsconfig.json'), '--outDir', outDir], { stderr: 'inherit' })
  const output = await new Response(run.stdout).text()
  if ((await run.exited) !== 0) throw new Error(`The types of the SDK do not build.\n${output}`)
  const files = (await readdir(outDir, { recursive: true })).filter((name) => name.endsWith('.d.ts'))
  for (const name of files) {
    const path = join(outDir, name)
    const text = await Bun.file(path).text()
    // Each module system follows only its own extension; the sources' `.ts` is not there for either.
    await Bun.write(path, text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
    await Bun.write(path.replace(/\.d\.ts$/, '.d.cts'), text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.cjs'"))
  }
}

if (import.meta.main) await buildSdk()
