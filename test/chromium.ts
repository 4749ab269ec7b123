/** A real Chromium for the browser tests: Playwright's own, or the system's; installed when there is none. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser } from '@playwright/test'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const places = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Undefined when there is none on this machine. */
function findChromium(): string | undefined {
  const own = chromium.executablePath()
  if (own && existsSync(own)) return own
  return names.map((name) => Bun.which(name)).find((path) => path !== null) ?? places.find((path) => existsSync(path))
}

/** For the start of a whole run: there is a browser when this returns. */
export async function ensureChromium(): Promise<string> {
  const found = findChromium()
  if (found) return found
  for (const command of installers()) {
    await Bun.spawn(command, { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' }).exited
    if (findChromium()) break
  }
  const installed = findChromium()
  if (installed) return installed
  throw new Error(
    'There is no Chromium: install one with `npx playwright install --with-deps chromium`, or from the system.',
  )
}

/** The system's own packages where we may install them, for they bring the libraries a browser needs; else Playwright's. */
function installers(): string[][] {
  const isRoot = process.getuid?.() === 0
  const cli = createRequire(import.meta.url).resolve('@playwright/test/cli')
  return [
    ...(isRoot && Bun.which('apt-get')
      ? [['sh', '-c', 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium']]
      : []),
    [process.execPath, cli, 'install', ...(isRoot ? ['--with-deps'] : []), 'chromium'],
  ]
}

export async function launchChromium(): Promise<Browser> {
  // As root Chromium refuses to start with its sandbox; a machine for tests often is root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return await chromium.launch({ executablePath: await ensureChromium(), args })
}
