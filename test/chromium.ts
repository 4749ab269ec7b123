/** A real Chromium for the browser tests: Playwright's own, or the system's; installed if there is none. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Frame, type LaunchOptions, type Page } from '@playwright/test'
import { makeClicksSure } from './clicks.ts'
import { isRoot } from './root.ts'
import { aptCommand, canInstall } from './system-package.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const places = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

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

/** The system's packages if we may install them, because they include the libraries of a browser; otherwise Playwright's. */
function installers(): string[][] {
  const cli = createRequire(import.meta.url).resolve('@playwright/test/cli')
  return [
    ...(canInstall ? ['chromium chromium-headless-shell fonts-liberation', 'chromium'].map(aptCommand) : []),
    [process.execPath, cli, 'install', ...(isRoot ? ['--with-deps'] : []), 'chromium'],
  ]
}

/**
 * Only the last --disable-features counts, so Playwright's features are repeated here. Ours come first: the pages of the address
 * bar's suggestions and a spare process, which Chromium would start for every window although no test uses them.
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
 * The headless shell, if installed: the same engine without the browser around the page (such as the pop-up blocker), for about a
 * quarter less processor time.
 */
async function ensureShell(): Promise<string> {
  const whole = await ensureChromium()
  return Bun.which('chromium-headless-shell') ?? whole
}

function launchOptions(executablePath: string): LaunchOptions {
  // As root Chromium does not start with its sandbox, and test machines often run as root.
  return {
    executablePath,
    // The shell would put frames of other sites into the process of their parent page.
    args: [`--disable-features=${disabledFeatures.join()}`, '--site-per-process', ...(isRoot ? ['--no-sandbox'] : [])],
  }
}

/** One Chromium for all files of a run: a file with `variables` in its environment opens its windows there. */
export async function shareChromium() {
  const server = await chromium.launchServer(launchOptions(await ensureShell()))
  return { variables: { TEST_CHROMIUM: server.wsEndpoint() }, close: () => server.close() }
}

const playwrightDefaults = ['--disable-popup-blocking', '--disable-back-forward-cache']

/**
 * A separate browser with the defaults that people have: it blocks pop-ups, and Back can restore a page from the cache. Playwright
 * disables both, so the shared browser has neither.
 */
export async function launchStrictChromium(): Promise<Browser> {
  const options = launchOptions(await ensureChromium())
  return withSureClicks(await chromium.launch({ ...options, ignoreDefaultArgs: playwrightDefaults }))
}

/** The same, with third-party cookies switched off: a frame of another site keeps only partitioned ones. */
export async function launchChromiumWithoutThirdPartyCookies(): Promise<Browser> {
  const options = launchOptions(await ensureChromium())
  const args = [...options.args!, '--test-third-party-cookie-phaseout']
  return withSureClicks(await chromium.launch({ ...options, args, ignoreDefaultArgs: playwrightDefaults }))
}

/** The run's shared Chromium, where `close` closes only the caller's windows; without a run, a new one. */
export async function launchChromium(): Promise<Browser> {
  const shared = process.env['TEST_CHROMIUM']
  return withSureClicks(
    shared ? await chromium.connect(shared) : await chromium.launch(launchOptions(await ensureShell())),
  )
}

function withSureClicks(browser: Browser): Browser {
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    // Without scripts no document can say what was clicked.
    return options?.javaScriptEnabled === false ? context : await makeClicksSure(context)
  }
  return browser
}

/** Runs a script that leaves its document, and may therefore get no answer. The caller waits for the result. */
export async function leaveBy(shown: Page | Frame, script: (argument: string) => void, argument = ''): Promise<void> {
  try {
    await shown.evaluate(script, argument)
  } catch (error) {
    if (!hasLeft(error)) throw error
  }
}

/** Whether a script got no answer because its document was gone. */
export const hasLeft = (error: unknown) => /context was destroyed|navigat/.test((error as Error).message)
