/** What the journey needs of a browser that Playwright cannot drive as its makers ship it: Debian's Firefox and WebKit. */

/** A document: a window, and the way down through its frames. */
export type Place = { readonly window: string; readonly frames?: readonly number[] }

export type Driver = {
  /** The windows there are, in no order. */
  windows(): Promise<string[]>
  go(window: string, url: string): Promise<void>
  reload(window: string): Promise<void>
  back(window: string): Promise<void>
  /** Runs the body of a function in the document. */
  run<T>(place: Place, body: string): Promise<T>
  /** As a hand does it, so that the browser counts it as a click. */
  click(place: Place, selector: string): Promise<void>
  type(place: Place, selector: string, text: string): Promise<void>
  close(): Promise<void>
}

/** Looks again until the body answers something that is true; a document that is on its way has no answer yet. */
export async function until<T>(driver: Driver, place: Place, body: string): Promise<T> {
  let last: unknown
  for (const endsAt = Date.now() + 30_000; Date.now() < endsAt; await Bun.sleep(50)) {
    try {
      last = await driver.run<T>(place, body)
      if (last) return last as T
    } catch (error) {
      last = error
    }
  }
  throw new Error(`${body} came to ${String(last)}`)
}
