/** Every state of the hosted pages, checked by axe; with SCREENSHOTS=1 also written to test/screenshots. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Frame, Page } from '@playwright/test'
import { Glob } from 'bun'
import { launchChromium } from '../chromium.ts'
import { expectNothingStays } from './another-person.ts'
import { findBarriers } from './axe.ts'
import { findPicturedMisfits } from './pictures.ts'
import { expectReturns } from './returns.ts'
import { startRig } from './rig.ts'
import { newStage } from './stage.ts'
import { accountStates } from './states-account.ts'
import { activityStates } from './states-activity.ts'
import { holdStates } from './states-holds.ts'
import { proofStates } from './states-proof.ts'
import { signInStates } from './states-sign-in.ts'
import { topupStates } from './states-topup.ts'
import { troubleStates } from './states-trouble.ts'
import { walletStates } from './states-wallet.ts'
import { wantsAll } from '../wants-all.ts'

setDefaultTimeout(240_000)

const root = join(import.meta.dir, '../..')
const links = {
  SUPPORT_URL: 'https://help.example/',
  TERMS_URL: 'https://terms.example/',
  PRIVACY_URL: 'https://privacy.example/',
}
/** Hard to lay out: long, two directions, words longer than a line of a phone. */
const nasty = {
  appName: 'Reisebuchhandlung & Landkartengroßhandel Fernweh (vormals Hohenlohe), مكتبة الأسفار',
  firstName: 'Wilhelmina-Konstantinopolina',
  lastName: 'عبد الرحمن von und zu Hohenlohe-Schillingsfürst',
}
const rig = await startRig({ CARD_PROCESSOR: 'sandbox', ...links }, launchChromium, nasty)
rig.service.sandbox!.setOrigin(rig.base)
// A payment that the bank is still processing stays so: on a busy machine it would be done before a state shows it.
Object.assign(rig.service.sandbox!, { processingMs: 3_600_000 })
const stage = newStage(rig, await rig.newTenant())
const states = {
  ...walletStates(stage),
  ...holdStates(stage),
  ...activityStates(stage),
  ...accountStates(stage),
  ...proofStates(stage),
  ...troubleStates(stage),
  ...signInStates(stage),
  ...topupStates(stage),
}

afterAll(() => rig.stop())

test('no style but a colour depends on the scheme, so that one layout is that of both', async () => {
  for (const sheet of new Glob('src/{web,widget}/**/*.css').scanSync(root))
    expect(await Bun.file(join(root, sheet)).text()).not.toContain('prefers-color-scheme')
})

test('each state that is not used by default names one that is, and each that is not shown names one that is shown', () => {
  for (const [name, { isLike, sameAs }] of Object.entries(states)) {
    if (isLike !== undefined) expect([name, states[isLike] && isUsed(states[isLike])]).toEqual([name, true])
    if (sameAs !== undefined) expect([name, states[sameAs] && states[sameAs].sameAs]).toEqual([name, undefined])
  }
  expect(Object.values(states).filter(isUsed).length).toBeGreaterThan(40)
})

const isUsed = ({ isLike, sameAs }: (typeof states)[string]) => (isLike ?? sameAs) === undefined
const tried = Object.entries(states).filter(([, { sameAs }]) => wantsAll || sameAs === undefined)
const shapes = wantsAll ? 'every width and text size' : 'the widest, the hardest and another width and text size'

for (const [name, state] of tried) {
  const { show, hasScript = true, isLast = false, sameAs, returns: own } = state
  const returns = own ?? (sameAs === undefined ? undefined : states[sameAs]!.returns) ?? {}
  const isShownOnly = !isUsed(state) && !wantsAll
  const more = ', a reload and Back show what they should, and nothing of it remains for another person'
  test(`the state ${name} fits ${shapes}, axe finds no barrier in it${isShownOnly ? '' : more}`, async () => {
    const page = await rig.openPage(hasScript ? {} : { javaScriptEnabled: false })
    const canSwitch = hasScript && !isLast
    const switchPerson = async (shown: Frame | Page) => {
      rig.trouble.answer = undefined
      if (!canSwitch || !('parentFrame' in shown)) return
      await Promise.all([page.unrouteAll(), page.context().setOffline(false)])
      await expectNothingStays(rig, page, shown)
    }
    try {
      await page.emulateMedia({ colorScheme: 'light' })
      const shown = await show(page)
      expect(await findPicturedMisfits(page, shown, name)).toEqual([])
      if (hasScript) expect(await findBarriers(shown)).toEqual([])
      if (isShownOnly) return
      // What a reload loses is there only before it.
      if (!returns.reload) return await switchPerson(await expectReturns(page, shown, returns))
      await switchPerson(shown)
      await expectReturns(page, isLast ? shown : await show(page), returns)
    } finally {
      rig.trouble.answer = undefined
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await (isLast ? page.context().close() : rig.closePage(page))
    }
  })
}
