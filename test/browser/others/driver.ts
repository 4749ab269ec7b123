/** The functions that the journey needs from browsers that Playwright cannot drive unpatched: Debian's Firefox and WebKit. */

/** A document: a window, and the indexes of the nested frames that lead to it. */
export type DocumentPath = { readonly window: string; readonly frames?: readonly number[] }

export type Driver = {
  /** In no particular order. */
  windows(): Promise<string[]>
  go(window: string, url: string): Promise<void>
  reload(window: string): Promise<void>
  back(window: string): Promise<void>
  /** Runs the body of a function in the document. */
  run<T>(target: DocumentPath, body: string): Promise<T>
  /** A real input event, so that the browser counts it as a user's click. */
  click(target: DocumentPath, selector: string): Promise<void>
  type(target: DocumentPath, selector: string, text: string): Promise<void>
  close(): Promise<void>
}

/** Runs the body until it returns something truthy; a document that is still loading returns nothing yet. */
export async function until<T>(driver: Driver, target: DocumentPath, body: string): Promise<T> {
  let last: unknown
  for (const endsAt = Date.now() + 30_000; Date.now() < endsAt; await Bun.sleep(50)) {
    try {
      last = await driver.run<T>(target, body)
      if (last) return last as T
    } catch (error) {
      last = error
    }
  }
  throw new Error(`${body} came to ${String(last)}`)
}
