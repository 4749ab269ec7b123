/** Pictures of a document in every shape, for review by people: SCREENSHOTS=1 writes them to test/screenshots. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { endFading, setScheme, wantsPictures } from './axe.ts'
import { findMisfits, nameOf } from './layout.ts'

const folder = join(import.meta.dir, '../screenshots')

/** What does not fit, in a document that is shown light. It is pictured light where it is widest, and dark elsewhere. */
export async function findPicturedMisfits(page: Page, shown: Frame | Page, name: string): Promise<string[]> {
  let scheme: 'light' | 'dark' = 'light'
  return await findMisfits(page, shown, name, async (shape) => {
    if (!wantsPictures) return
    const wanted = shape.width === 1280 ? 'light' : 'dark'
    if (wanted !== scheme) await setScheme(page, shown, (scheme = wanted))
    await takePicture(page, shown, shape.width, `${name}-${nameOf(shape)}`)
  })
}

/** Makes the window as high as the page: Chromium leaves foreign frames blank in screenshots that are longer than the window. */
async function takePicture(page: Page, shown: Frame | Page, width: number, name: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const height = await shown.evaluate(() => document.getElementById('root')!.getBoundingClientRect().height)
  await page.setViewportSize({ width, height: Math.ceil(height) || 400 })
  await endFading(shown)
  // The frame draws in its own process: a screenshot at once may still show the former scheme.
  await shown.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
