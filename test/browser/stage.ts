/** Functions that set up the states of the hosted pages. */
import type { Frame, Page } from '@playwright/test'
import { postForService } from '../../src/actions/money/post.ts'
import { frameIn, untilSeen } from '../until.ts'
import { waitForMessage, type Rig } from './rig.ts'
import type { Returns } from './returns.ts'
import { signInOnDevice, type Tenant } from './shop.ts'

/**
 * `show` brings the page into the state and returns the document that shows it. `hasScript: false` runs it in a browser without
 * scripts; `isLast: true` means the page cannot be used afterwards. Unless `returns` says otherwise, a reload shows the state again, and
 * Back has no view to return to. `isLike` names a state with the same kind of view, in which a reload, Back and a change of person are tried
 * for both; `sameAs` one whose view differs only in language, words and amounts, or shows more. `npm test -- all` tries everything in every
 * state; by default those of the first kind are only shown, and those of the second are not.
 */
type State = {
  readonly show: (page: Page) => Promise<Frame | Page>
  readonly hasScript?: false
  readonly isLast?: true
  readonly returns?: Returns
  readonly isLike?: string
  readonly sameAs?: string
}
export type StatesOf = (stage: Stage) => Record<string, State>
type Stage = ReturnType<typeof newStage>

const entries = [
  ['credit', 250, 'Welcome gift from Grandma'],
  ['debit', 24.9, 'The Left Hand of Darkness, hardcover'],
  ['debit', 3.5, undefined],
  ['debit', 119, 'Complete Works of Jorge Luis Borges, three volumes in a slipcase'],
  ['credit', 24.9, 'Refund: order 1041'],
  ['debit', 12, 'Postcards'],
  ['debit', 8.25, 'Gift wrapping'],
  ['credit', 1200, 'Prize: short story of the year'],
  ['debit', 64.4, 'Atlas of Remote Islands'],
  ['credit', 999_999_999.99, 'Vorauszahlung Geschwindigkeitsbegrenzung, Reise nach طرابلس الشرق'],
  ['debit', 999_999_999.98, `Invoice ${'2026-0000-9999-'.repeat(5)}`],
  ['debit', 9.99, `https://books.example/orders/${'0123456789abcdef'.repeat(6)}`],
] as const

export function newStage(rig: Rig, tenant: Tenant) {
  const wallet = (query: Record<string, string>) => `${rig.base}/widget/wallet?${new URLSearchParams(query)}`
  const topup = (query: Record<string, string>) => `${rig.base}/widget/topup?${new URLSearchParams(query)}`

  /** The app's server writes the frame, with the attributes of the contract or with others. */
  async function inShop(page: Page, src: string, attributes: Record<string, string> = {}): Promise<Frame> {
    await page.goto(`${rig.shop}/plain?${new URLSearchParams({ src, ...attributes })}`)
    return await frameIn(page)
  }

  /** A tenant whose user has many entries of a week. */
  async function funded(changes: Parameters<Rig['newTenant']>[0] = {}): Promise<Tenant> {
    const made = await rig.newTenant(changes)
    const { clientId, clientSecret, client, user } = made
    // The longest figure that has room for what the states add.
    await move(made, 999_000_000_000_000n)
    for (const [direction, amount, description] of entries) {
      await client.post(`/api/server/wallet/${direction}`, {
        clientId,
        clientSecret,
        serviceUserId: user.serviceUserId,
        amount,
        referenceType: direction === 'debit' ? 'ORDER_PAYMENT' : 'ORDER_REFUND',
        referenceId: `${direction} ${amount}`,
        description,
      })
    }
    return made
  }

  /** Posts as the service itself does for a card payment. */
  async function move({ user }: Tenant, amountMinor: bigint): Promise<void> {
    await postForService(rig.service, {
      walletId: user.userId,
      counterAccount: 'cards',
      amountMinor,
      isReversal: amountMinor < 0n,
      referenceType: amountMinor < 0n ? 'TOPUP_DISPUTE' : 'TOPUP',
      referenceId: user.userId,
      description: 'By card',
    })
  }

  /** A tenant whose user is in debt after a disputed card payment. */
  async function owing(): Promise<Tenant> {
    const made = await rig.newTenant()
    await move(made, -4200n)
    return made
  }

  /** On a device of the user; `isDevice: false` opens it where the user has not signed in. */
  async function openWallet(
    page: Page,
    tenant: Tenant,
    query: Record<string, string> = {},
    { isDevice = true } = {},
  ): Promise<Frame> {
    if (isDevice) await signInOnDevice(rig, page, tenant)
    const frame = await inShop(page, wallet({ session: await tenant.newSession(), ...query }))
    await untilSeen(frame, '.hero-balance .visually-hidden')
    return frame
  }

  async function signedOut(page: Page, query: Record<string, string> = {}): Promise<Frame> {
    const frame = await inShop(page, wallet({ clientId: tenant.clientId, ...query }))
    // The server renders the form; its script sends this message once it runs.
    await waitForMessage(page, 'SERVICE_AUTH_REQUIRED')
    await untilSeen(frame, '#field-password')
    return frame
  }

  /** Until the state is over, `answer` answers calls to the path; it may never resolve. */
  function answerInstead(path: string, answer: () => Response | Promise<Response>): void {
    rig.trouble.answer = ({ pathname }) => (pathname === path ? answer() : undefined)
  }

  return { rig, tenant, wallet, topup, inShop, funded, move, owing, openWallet, signedOut, answerInstead }
}
