/** The test cards and what each does. A number is Stripe's test number where Stripe has one for the purpose. */
export type CardScenario =
  | { readonly kind: 'succeeds' }
  | { readonly kind: 'declined'; readonly code: string; readonly message: string }
  | { readonly kind: 'challenge' }
  | { readonly kind: 'processing'; readonly end: 'succeeded' | 'failed' }
  | { readonly kind: 'disputed-later' }

export type TestCard = { readonly number: string; readonly what: string; readonly scenario: CardScenario }

function declined(number: string, what: string, code: string, message: string): TestCard {
  return { number, what, scenario: { kind: 'declined', code, message } }
}

export const testCards: readonly TestCard[] = [
  { number: '4242424242424242', what: 'Succeeds', scenario: { kind: 'succeeds' } },
  { number: '4000002500003155', what: 'Asks for a 3-D Secure challenge', scenario: { kind: 'challenge' } },
  declined('4000000000000002', 'Declined', 'generic_decline', 'Your card was declined.'),
  declined('4000000000009995', 'Declined: not enough money', 'insufficient_funds', 'Your card has insufficient funds.'),
  declined('4000000000000069', 'Declined: expired', 'expired_card', 'Your card has expired.'),
  declined('4000000000000127', 'Declined: wrong CVC', 'incorrect_cvc', 'The security code of your card is incorrect.'),
  {
    number: '4000000000006066',
    what: 'Processes for a while, then succeeds',
    scenario: { kind: 'processing', end: 'succeeded' },
  },
  {
    number: '4000000000007007',
    what: 'Processes for a while, then fails for good',
    scenario: { kind: 'processing', end: 'failed' },
  },
  { number: '4000000000000259', what: 'Succeeds, and is disputed later', scenario: { kind: 'disputed-later' } },
]

export type TypedCard = { readonly number: string; readonly expiry: string; readonly cvc: string }

export type CardMistake = { readonly field: keyof TypedCard; readonly message: string }

/**
 * Returns only the scenario of a typed card. A number that is not a test card may be a real one, so the sandbox never stores, logs
 * or shows it.
 */
export function parseCard(typed: TypedCard, now: Date): CardScenario | CardMistake {
  const digits = typed.number.replaceAll(/[\s-]/g, '')
  if (!/^\d{12,19}$/.test(digits) || !passesLuhn(digits)) {
    return { field: 'number', message: 'This card number is not valid. Check the digits.' }
  }
  const card = testCards.find((candidate) => candidate.number === digits)
  if (!card) {
    return { field: 'number', message: 'This is a sandbox: never type a real card here. Use one of the test cards.' }
  }
  const expires = parseExpiry(typed.expiry)
  if (!expires) return { field: 'expiry', message: 'Write the expiry date as month and year, like 04 / 30.' }
  if (expires.getTime() <= now.getTime()) return { field: 'expiry', message: 'This expiry date is in the past.' }
  if (!/^\d{3,4}$/.test(typed.cvc.trim()))
    return { field: 'cvc', message: 'The CVC is the three or four digits on the card.' }
  return card.scenario
}

export function isCardMistake(answer: CardScenario | CardMistake): answer is CardMistake {
  return 'field' in answer
}

export function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let place = 0; place < digits.length; place += 1) {
    const digit = Number(digits[digits.length - 1 - place])
    const weighted = place % 2 === 1 ? digit * 2 : digit
    sum += weighted > 9 ? weighted - 9 : weighted
  }
  return sum % 10 === 0
}

/** Returns the first instant after the month on the card. */
function parseExpiry(text: string): Date | undefined {
  const [, month, year] = /^(0?[1-9]|1[0-2])\s*(?:\/\s*)?(\d{2}|20\d{2})$/.exec(text.trim()) ?? []
  if (month === undefined || year === undefined) return undefined
  const fullYear = year.length === 2 ? 2000 + Number(year) : Number(year)
  return new Date(Date.UTC(fullYear, Number(month), 1))
}
