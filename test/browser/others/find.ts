/** Firefox and WebKit, if the machine has them. The tests do not install them: hundreds of megabytes for one journey. */
import { Glob } from 'bun'
import type { Driver } from './driver.ts'
import { startFirefox } from './firefox.ts'
import { startWebKit } from './webkit.ts'

/** `missing` names the package to install. */
export type OtherBrowser = {
  readonly name: string
  readonly start?: () => Promise<Driver>
  readonly missing?: string
}

export async function findOtherBrowsers(): Promise<OtherBrowser[]> {
  return [findFirefox(), await findWebKit()]
}

function findFirefox(): OtherBrowser {
  const name = 'Firefox'
  const binary = Bun.which('firefox-esr') ?? Bun.which('firefox')
  return binary ? { name, start: () => startFirefox(binary) } : { name, missing: 'firefox-esr' }
}

async function findWebKit(): Promise<OtherBrowser> {
  const name = 'WebKit'
  const [browser] = await Array.fromAsync(
    new Glob('*/webkit2gtk-4.*/MiniBrowser').scan({ cwd: '/usr/lib', absolute: true }),
  ).catch((): string[] => [])
  const [driver, screen] = [Bun.which('WebKitWebDriver'), Bun.which('Xvfb')]
  return browser && driver && screen
    ? { name, start: () => startWebKit({ driver, browser, screen }) }
    : { name, missing: 'webkit2gtk-driver and xvfb' }
}
