/**
 * Builds the published package from the sources: ESM and CommonJS with types, and one file for a `<script>` tag. The service
 * builds and serves the same files where no TypeScript compiler is installed, so the types are committed in `types`.
 */
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import manifest from './package.json'

const folder = import.meta.dir
const entries = ['contract', 'server', 'browser', 'react', 'verify', 'no-path']

/** The files by their path in the package. */
export type SdkFiles = ReadonlyMap<string, Uint8Array>

export const sdkVersion: string = manifest.version

/** Builds the whole package, with the same files as `npm pack`. */
export async function buildPackage(): Promise<SdkFiles> {
  const sources = manifest.files.filter((pattern) => pattern.endsWith('.ts') && !pattern.startsWith('!'))
  const kept = [...sources.flatMap(listFiles), 'package.json', 'README.md', 'LICENSE']
  const files = new Map(await buildDist())
  for (const path of kept) files.set(path, await Bun.file(join(folder, path)).bytes())
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export async function buildScript(): Promise<Uint8Array> {
  const [script] = await bundle({ entrypoints: [join(folder, 'browser/script.ts')], format: 'iife', minify: true })
  return new TextEncoder().encode(script!.text)
}

async function buildDist(): Promise<SdkFiles> {
  const files = new Map([['dist/billfold.js', await buildScript()]])
  const add = (path: string, text: string) => files.set(`dist/${path}`, new TextEncoder().encode(text))
  for (const [format, ending] of [
    ['esm', '.js'],
    ['cjs', '.cjs'],
  ] as const) {
    const built = await bundle({ entrypoints: entries.map((name) => join(folder, `${name}.ts`)), format })
    // Marks the React entry as client code for frameworks with server components.
    for (const { name, text } of built) add(name + ending, name === 'react' ? `'use client'\n${text}` : text)
  }
  for (const path of listFiles('types/**/*.d.ts')) {
    const text = await Bun.file(join(folder, path)).text()
    const name = path.slice('types/'.length)
    // The types import `.ts` sources, which are not resolved here: each module system needs its own extension.
    add(name, text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
    add(name.replace(/\.d\.ts$/, '.d.cts'), text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.cjs'"))
  }
  return files
}

type Built = { readonly name: string; readonly text: string }

async function bundle(config: Pick<Bun.BuildConfig, 'entrypoints' | 'format' | 'minify'>): Promise<Built[]> {
  // The code imports no Node module, so the browser build runs in Node too.
  const result = await Bun.build({ target: 'browser', naming: '[name]', external: ['react'], ...config })
  if (!result.success) throw new AggregateError(result.logs, 'The SDK does not bundle.')
  return await Promise.all(
    result.outputs.map(async (output) => {
      const text = await output.text()
      // Removes the bundler's path comments, which depend on the working directory.
      return { name: output.path.replace(/^\.\//, ''), text: text.replaceAll(/^\/\/ \S+\.ts\n/gm, '') }
    }),
  )
}

function listFiles(pattern: string): string[] {
  return [...new Glob(pattern).scanSync(folder)].filter((path) => !path.endsWith('.test.ts')).sort()
}

/** Writes `dist` for `npm pack` and `npm publish`. */
async function writeDist(): Promise<void> {
  await rm(join(folder, 'dist'), { recursive: true, force: true })
  for (const [path, bytes] of await buildDist()) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await Bun.write(join(folder, path), bytes)
  }
}

if (import.meta.main) await writeDist()
