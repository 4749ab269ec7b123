/** A real Chromium for the browser tests: Playwright's own, or the system's; installed when there is none. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Frame, type LaunchOptions, type Page } from '@playwright/test'

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

async function ensureChromium(): Promise<string> {
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

const apt = 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends'

/** The system's own packages where we may install them, because they bring the libraries a browser needs; else Playwright's. */
function installers(): string[][] {
  const isRoot = process.getuid?.() === 0
  const cli = createRequire(import.meta.url).resolve('@playwright/test/cli')
  return [
    ...(isRoot && Bun.which('apt-get')
      ? ['chromium chromium-headless-shell fonts-liberation', 'chromium'].map((names) => [
          'sh',
          '-c',
          `${apt} ${names}`,
        ])
      : []),
    [process.execPath, cli, 'install', ...(isRoot ? ['--with-deps'] : []), 'chromium'],
  ]
}

/**
 * Only the last --disable-features counts, so those of Playwright are named again. Ours come first: the page of the address
 * bar's suggestions and a process in reserve, which Chromium otherwise starts for every window without need.
 */
const disabledFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'SpareRendererForSitePerProcess',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

/**
 * Where it is installed, the headless shell: the same engine without what a person has around a page, such as the pop-up
 * blocker, for about a quarter less processor time.
 */
async function ensureShell(): Promise<string> {
  const whole = await ensureChromium()
  return Bun.which('chromium-headless-shell') ?? whole
}

function launchOptions(executablePath: string): LaunchOptions {
  // As root Chromium refuses to start with its sandbox; a machine for tests often is root.
  const isRoot = process.getuid?.() === 0
  return {
    executablePath,
    // The shell would put frames of other sites into the process of the page around them.
    args: [`--disable-features=${disabledFeatures.join()}`, '--site-per-process', ...(isRoot ? ['--no-sandbox'] : [])],
  }
}

/** One Chromium for the files of a whole run: with `variables` in its environment a file opens its windows in it. */
export async function shareChromium() {
  const server = await chromium.launchServer(launchOptions(await ensureShell()))
  return { variables: { TEST_CHROMIUM: server.wsEndpoint() }, close: () => server.close() }
}

const unlikePeople = ['--disable-popup-blocking', '--disable-back-forward-cache']

/**
 * A separate Chromium as people have it: it blocks pop-ups, and Back may show a page just as it was left. Playwright's defaults do
 * neither, so the shared one does not.
 */
export async function launchStrictChromium(): Promise<Browser> {
  return await chromium.launch({ ...launchOptions(await ensureChromium()), ignoreDefaultArgs: unlikePeople })
}

/** The run's shared Chromium, where closing closes only the caller's windows; without a run, a separate one. */
export async function launchChromium(): Promise<Browser> {
  const shared = process.env['TEST_CHROMIUM']
  return shared ? await chromium.connect(shared) : await chromium.launch(launchOptions(await ensureShell()))
}

/** Runs a script that ends the document it runs in, and perhaps its own answer with it. What follows is for the caller to wait for. */
export async function leaveBy(shown: Page | Frame, script: (argument: string) => void, argument = ''): Promise<void> {
  try {
    await shown.evaluate(script, argument)
  } catch (error) {
    if (!hasLeft(error)) throw error
  }
}

/** Whether a script had no answer because its document was gone before. */
export const hasLeft = (error: unknown) => /context was destroyed|navigat/.test((error as Error).message)
