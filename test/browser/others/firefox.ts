/** Firefox, driven directly by WebDriver BiDi over its own socket, without a driver process. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Driver, DocumentPath } from './driver.ts'

type Tree = { readonly context: string; readonly children: readonly Tree[] }
type Answer = { readonly id: number; readonly result?: unknown; readonly message?: string }

/** The pop-up blocker is on, as by default for people; Firefox checks and downloads nothing by itself. */
const preferences = {
  'dom.disable_open_during_load': true,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'browser.aboutwelcome.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
}

export async function startFirefox(binary: string): Promise<Driver> {
  const profile = await mkdtemp(join(tmpdir(), 'billfold-firefox-'))
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref('${name}', ${JSON.stringify(value)});`)
  await Bun.write(join(profile, 'user.js'), lines.join('\n'))
  const command = [binary, '--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0']
  const child = Bun.spawn(command, {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: { ...process.env, HOME: profile },
  })
  const { send, hangUp } = await connect(`${await addressIn(child.stderr)}/session`)
  await send('session.new', { capabilities: {} })

  const tree = async () => (await send<{ contexts: Tree[] }>('browsingContext.getTree', {})).contexts

  async function contextOf({ window, frames = [] }: DocumentPath): Promise<string> {
    let here = (await tree()).find(({ context }) => context === window)
    for (const at of frames) here = here?.children[at]
    if (!here) throw new Error('There is no such frame.')
    return here.context
  }

  async function call(context: string, body: string) {
    const found = await send<{
      type: string
      result?: { value?: unknown; sharedId?: string }
      exceptionDetails?: { text: string }
    }>('script.callFunction', {
      functionDeclaration: `function () { ${body} }`,
      target: { context },
      awaitPromise: true,
      userActivation: false,
    })
    if (!found.result) throw new Error(found.exceptionDetails?.text ?? 'no answer')
    return found.result
  }

  async function act(context: string, selector: string, keys: string): Promise<void> {
    const { sharedId } = await call(
      context,
      `const found = document.querySelector(${JSON.stringify(selector)}); found?.scrollIntoView({ block: 'center' }); return found`,
    )
    if (sharedId === undefined) throw new Error(`There is no ${selector}.`)
    const origin = { type: 'element', element: { sharedId } }
    const pointer = [
      { type: 'pointerMove', x: 0, y: 0, origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ]
    const strokes = Array.from(keys).flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ])
    await send('input.performActions', { context, actions: [{ type: 'pointer', id: 'hand', actions: pointer }] })
    if (strokes.length > 0)
      await send('input.performActions', { context, actions: [{ type: 'key', id: 'keys', actions: strokes }] })
  }

  const goTo = async (method: string, context: string, more: object) => {
    await send(`browsingContext.${method}`, { context, ...more })
  }

  return {
    windows: async () => (await tree()).map(({ context }) => context),
    go: (window, url) => goTo('navigate', window, { url, wait: 'complete' }),
    reload: (window) => goTo('reload', window, { wait: 'complete' }),
    back: (window) => goTo('traverseHistory', window, { delta: -1 }),
    // Values travel as JSON: the protocol's own representation has more detail than the journey needs.
    run: async <T>(target: DocumentPath, body: string) => {
      const { value } = await call(await contextOf(target), `return JSON.stringify((() => { ${body} })() ?? null)`)
      return JSON.parse(String(value)) as T
    },
    click: async (target, selector) => act(await contextOf(target), selector, ''),
    type: async (target, selector, text) => act(await contextOf(target), selector, text),
    close: async () => {
      await send('browser.close', {}).catch(() => {})
      hangUp()
      child.kill()
      await child.exited
      await rm(profile, { recursive: true, force: true })
    },
  }
}

async function addressIn(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const chunk of output) {
    text += new TextDecoder().decode(chunk)
    const address = /BiDi listening on (ws:\S+)/.exec(text)?.[1]
    if (address) return address
  }
  throw new Error(`Firefox did not start: ${text}`)
}

async function connect(address: string) {
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let count = 0
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  async function send<T>(method: string, params: object): Promise<T> {
    const id = ++count
    const answer = await new Promise<Answer>((resolve) => {
      waiting.set(id, resolve)
      socket.send(JSON.stringify({ id, method, params }))
    })
    if (answer.result === undefined) throw new Error(`${method}: ${answer.message}`)
    return answer.result as T
  }
  return { send, hangUp: () => socket.close() }
}
