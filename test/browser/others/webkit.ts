/** WebKit as Debian ships it (WebKitGTK), driven by its own WebDriver. It needs a screen, so it gets a virtual one. */
import { freePort } from '../../free-port.ts'
import type { Driver, DocumentPath } from './driver.ts'

/** The key of an element reference in WebDriver's answers. */
const elementKey = 'element-6066-11e4-a52e-4f735466cecf'

export type WebKitPrograms = { readonly driver: string; readonly browser: string; readonly screen: string }

export async function startWebKit(programs: WebKitPrograms): Promise<Driver> {
  const screen = Bun.spawn([programs.screen, '-displayfd', '1', '-screen', '0', '1280x2000x24', '-nolisten', 'tcp'], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const display = `:${(await firstLine(screen.stdout)).trim()}`
  const port = await freePort()
  const child = Bun.spawn([programs.driver, `--port=${port}`], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
    env: { ...process.env, DISPLAY: display, WEBKIT_DISABLE_COMPOSITING_MODE: '1', NO_AT_BRIDGE: '1' },
  })
  const base = `http://127.0.0.1:${port}`
  await untilUp(base)

  async function ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body: object = {}): Promise<T> {
    const response = await fetch(base + path, { method, ...(method === 'POST' && { body: JSON.stringify(body) }) })
    const { value } = (await response.json()) as { value: T & { error?: string; message?: string } }
    if (!response.ok) throw new Error(`${path}: ${value.error} ${value.message}`)
    return value
  }

  const options = { binary: programs.browser, args: ['--automation'] }
  const asked = { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } } }
  const { sessionId } = await ask<{ sessionId: string }>('POST', '/session', asked)
  const at = `/session/${sessionId}`

  // High enough that nothing needs scrolling: a click into a frame below the edge has no effect.
  await ask('POST', `${at}/window/rect`, { x: 0, y: 0, width: 1280, height: 2000 })

  async function enter({ window, frames = [] }: DocumentPath): Promise<void> {
    await ask('POST', `${at}/window`, { handle: window })
    await ask('POST', `${at}/frame`, { id: null })
    for (const id of frames) await ask('POST', `${at}/frame`, { id })
  }

  async function find(target: DocumentPath, selector: string): Promise<string> {
    await enter(target)
    const found = await ask<Record<string, string>>('POST', `${at}/element`, { using: 'css selector', value: selector })
    return found[elementKey]!
  }

  const inWindow = async (window: string, verb: string, body: object = {}) => {
    await enter({ window })
    await ask('POST', `${at}/${verb}`, body)
  }

  return {
    windows: () => ask<string[]>('GET', `${at}/window/handles`),
    go: (window, url) => inWindow(window, 'url', { url }),
    reload: (window) => inWindow(window, 'refresh'),
    back: (window) => inWindow(window, 'back'),
    run: async <T>(target: DocumentPath, body: string) => {
      await enter(target)
      return await ask<T>('POST', `${at}/execute/sync`, { script: body, args: [] })
    },
    click: async (target, selector) => {
      await ask('POST', `${at}/element/${await find(target, selector)}/click`)
    },
    type: async (target, selector, text) => {
      const found = await find(target, selector)
      await ask('POST', `${at}/element/${found}/value`, { text }).catch(async (error: Error) => {
        if (!error.message.includes('not interactable')) throw error
        // Without a window manager the focus does not return from a window that was opened, so no key press arrives.
        const script = `arguments[0].value = ${JSON.stringify(text)}`
        await ask('POST', `${at}/execute/sync`, { script, args: [{ [elementKey]: found }] })
      })
    },
    close: async () => {
      await ask('DELETE', at).catch(() => {})
      for (const each of [child, screen]) {
        each.kill()
        await each.exited
      }
    },
  }
}

async function untilUp(base: string): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await fetch(`${base}/status`).catch(() => undefined)) return
    await Bun.sleep(50)
  }
  throw new Error('WebKitWebDriver did not start.')
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of output) {
    text += new TextDecoder().decode(chunk)
    if (text.includes('\n')) return text
  }
  throw new Error('There is no screen.')
}
