/** A pre-order in the shop's page: reserved, shipped, cancelled and expired, as a person sees it, on a narrow page, and in a long run on a wide one. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { letHoldsAge } from '../holds.ts'
import { firstOrAll } from '../wants-all.ts'
import { startShopRig, type ShopRig } from './rig.ts'
import { eventually, newName, openVisit } from './visit.ts'

setDefaultTimeout(240_000)

let rig: ShopRig
beforeAll(async () => void (rig = await startShopRig()))
afterAll(() => rig.stop())

test.each(firstOrAll([390, 1280]))('on a page of %i pixels', async (width) => {
  const visit = await openVisit(rig, { viewport: { width, height: 1_000 } })
  const { page } = visit
  await visit.enterAs(newName())
  await visit.signInAsNew()
  await page.getByRole('button', { name: /welcome gift/ }).click()
  await eventually(async () => await visit.purse().textContent(), '$50.00')

  const order = visit.order('Moon clock')
  const state = () => order.locator('.state').textContent()
  // By keyboard: while the frame changes its height, a button may move away from the pointer.
  const press = (name: string) => order.getByRole('button', { name }).press('Enter')
  await page.getByRole('button', { name: 'Pre-order the Moon clock' }).press('Enter')
  await order.locator('.state.reserved').waitFor()
  expect(await state()).toMatch(/^Reserved until [A-Z][a-z]{2} \d{1,2}$/)
  await eventually(async () => await visit.purse().textContent(), '$8.00')

  await press('Cancel')
  await eventually(state, 'Cancelled, nothing paid')
  await eventually(async () => await visit.purse().textContent(), '$50.00')

  await press('Order again')
  await order.locator('.state.reserved').waitFor()
  await letHoldsAge(rig.opened, 8 * 86_400)
  await page.reload()
  await eventually(state, 'Expired, nothing paid')
  const isWithin = await page.evaluate(() => {
    const { right } = document.querySelector('.left')!.getBoundingClientRect()
    const parts = [...document.querySelectorAll('.product, .product *, .order, .order *:not(.unseen)')]
    return parts.every((part) => part.getBoundingClientRect().right <= right + 0.5)
  })
  expect(isWithin).toBe(true)

  await press('Order again')
  await order.locator('.state.reserved').waitFor()
  await press('Ship it')
  await eventually(state, 'Paid')
  await eventually(async () => await visit.purse().textContent(), '$8.00')
  expect(visit.complaints).toEqual([])
  await visit.close()
})
