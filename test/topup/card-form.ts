/** The test cards of the sandbox, and functions that fill its card form. */
import type { Frame, FrameLocator, Page } from '@playwright/test'

export const cards = {
  good: '4242 4242 4242 4242',
  challenge: '4000 0025 0000 3155',
  declined: '4000 0000 0000 0002',
  poor: '4000 0000 0000 9995',
  expired: '4000 0000 0000 0069',
  cvc: '4000 0000 0000 0127',
  slow: '4000 0000 0000 6066',
  slowToFail: '4000 0000 0000 7007',
  disputed: '4000 0000 0000 0259',
}

export function formIn(where: Page | Frame): FrameLocator {
  return where.frameLocator('iframe.card-frame')
}

export async function typeCard(where: Page | Frame, number: string): Promise<void> {
  const form = formIn(where)
  await form.locator('input[name=number]').fill(number)
  await form.locator('input[name=expiry]').fill('12 / 40')
  await form.locator('input[name=cvc]').fill('123')
  await form.getByRole('button', { name: 'Pay now' }).click()
}
