/** Every mail as a mail program shows it. Runs only with SCREENSHOTS=1, and writes into test/screenshots. */
import { test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { writeMail } from '../../src/actions/mails/letter.ts'
import { chooseLanguage } from '../../src/languages/languages.ts'
import { launchChromium } from '../chromium.ts'
import { sampleConfig, sampleLetters } from '../mail-samples.ts'
import { wantsPictures } from './axe.ts'

const folder = new URL('../screenshots/', import.meta.url).pathname
const looks = [
  ['en', 'light', 360],
  ['en', 'light', 700],
  ['en', 'dark', 360],
  ['en', 'dark', 700],
  ['ar', 'light', 360],
  ['ar', 'dark', 700],
  ['de', 'light', 360],
  ['ja', 'light', 360],
] as const

test.skipIf(!wantsPictures)(
  'every mail has its picture, narrow and wide, in both themes and directions',
  async () => {
    await mkdir(folder, { recursive: true })
    const browser = await launchChromium()
    for (const [lang, colorScheme, width] of looks) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 400 } })
      for (const [name, letter] of Object.entries(sampleLetters(lang))) {
        const look = { language: chooseLanguage(lang), about: sampleConfig.about, hasLogo: false }
        await page.setContent(writeMail(letter, look).html)
        await page.screenshot({ path: `${folder}mail-${name}-${lang}-${colorScheme}-${width}.png`, fullPage: true })
      }
      await page.close()
    }
    await browser.close()
  },
  300_000,
)
