/** The guards of cards, limits and requests. */
import type { Guarded } from './run.ts'

const widgetTopup = 'src/api/widget-topup.test.ts'
const topupRules = 'src/actions/topups/topup-rules.test.ts'
const exactlyOnce = 'test/topup/exactly-once.test.ts'
const reversals = 'test/topup/reversals.test.ts'
const stripe = 'src/cards/stripe/stripe.test.ts'
const contract = 'test/cards/contract.test.ts'

export const edgeGuards: readonly Guarded[] = [
  {
    area: 'top-ups',
    file: 'src/actions/topups/topup-rules.ts',
    tests: [topupRules],
    mutants: [
      [`payment.topupId === topup.id &&`, ``],
      [`payment.userId === topup.userId &&`, ``],
      [`payment.amountMinor === amountOf(topup, payment) &&`, ``],
      [`payment.currency === topup.currency &&`, ``],
      [`topup.currency === ledgerCurrency &&`, ``],
      [`(payment.status !== 'succeeded' || payment.amountReceivedMinor === payment.amountMinor)`, `true`],
      [`topup.problem ?? (!isOrdered`, `(!isOrdered`],
      [`if (payment.status !== 'succeeded') return keptTotals(topup)`, ``],
      [`type === 'TOPUP' ? paymentIntentId : \`\${paymentIntentId}:\${number}\``, `paymentIntentId`],
    ],
  },
  {
    area: 'top-ups',
    file: 'src/actions/topups/receive-event.ts',
    tests: [exactlyOnce],
    mutants: [[`if (!topup || topup.userId !== payment.userId)`, `if (!topup)`]],
  },
  {
    area: 'top-ups',
    file: 'src/actions/topups/confirm-topup.ts',
    tests: [exactlyOnce],
    mutants: [[`if (topup?.userId !== userId)`, `if (!topup)`]],
  },
  {
    area: 'top-ups',
    file: 'src/actions/topups/resolve-topup.ts',
    tests: [reversals],
    mutants: [
      [`if (!(await isTopupVersion(tx, before))) return undefined`, ``],
      [`isReversal: amountMinor < 0n,`, `isReversal: false,`],
    ],
  },
  {
    area: 'top-ups',
    file: 'src/actions/topups/create-topup.ts',
    tests: [widgetTopup, reversals],
    mutants: [
      [`amountMinor < minMinor || `, ``],
      [` || amountMinor > maxMinor)`, `)`],
      [`session.frozenFor !== null && session.frozenFor !== 'debt'`, `session.frozenFor === 'closed'`],
      [`session.frozenFor !== null && session.frozenFor !== 'debt'`, `session.frozenFor !== null`],
      [`session.balanceMinor + amountMinor > maxBalanceMinor`, `amountMinor > maxBalanceMinor`],
    ],
  },
  {
    area: 'limits',
    file: 'src/actions/topups/topup-limits.ts',
    tests: [widgetTopup],
    mutants: [
      [`(await findDeclineLimit(service, session.userId)) ??`, ``],
      [`(await takeLimit(service, perSession, session.tokenHash.toString('hex'))) ??`, ``],
      [`(await takeLimit(service, perUser, session.userId))`, `undefined`],
      [`if (count < maxDeclinesAnHour || !firstAt)`, `if (count <= maxDeclinesAnHour || !firstAt)`],
      [`return await cancelUnpaid(service, resolved)`, `return resolved`],
      [`return await takeLimit(service, confirmsPerUser, userId)`, `return undefined`],
    ],
  },
  {
    area: 'cards',
    file: 'src/cards/stripe/payments.ts',
    tests: [stripe],
    mutants: [
      [`dispute.status !== 'won' && booked < 0`, `booked < 0`],
      [`dispute.status !== 'won' && booked < 0`, `dispute.status !== 'won'`],
      [`Math.min(heldByDisputes(disputes), intent.amount_received - refunded)`, `heldByDisputes(disputes)`],
    ],
  },
  {
    area: 'cards',
    file: 'src/cards/stripe/stripe.ts',
    tests: [stripe, contract],
    mutants: [
      [`if (!isIntentId(id)) return undefined`, ``],
      [`if (!isIntentId(order.paymentIntentId)) return unknownPayment\n  const amount`, `const amount`],
      [`if (!isIntentId(order.paymentIntentId)) return unknownPayment\n  try`, `try`],
      [`if (!isIntentId(id)) return unknownPayment`, ``],
      [`const toleranceSeconds = 300`, `const toleranceSeconds = 301`],
      [
        `{ payment_intent: order.paymentIntentId, amount },\n      { idempotencyKey: order.idempotencyKey },`,
        `{ payment_intent: order.paymentIntentId, amount },`,
      ],
      [`if (typeof id !== 'string' || typeof type !== 'string') return 'malformed'`, ``],
    ],
  },
  {
    area: 'cards',
    file: 'src/cards/stripe/amounts.ts',
    tests: ['src/cards/stripe/amounts.test.ts'],
    mutants: [
      [`if (amountMinor <= 0n)`, `if (amountMinor < 0n)`],
      [`difference < 0 && amountMinor % scale !== 0n`, `difference > 9`],
      [`threeDecimals.has(currency) && amount % 10n !== 0n`, `difference > 9`],
      [`if (BigInt(amount) % scale !== 0n)`, `if (difference > 9)`],
    ],
  },
  {
    area: 'cards',
    file: 'sandbox/signature.ts',
    tests: ['sandbox/sandbox.test.ts', contract],
    mutants: [
      [`Math.abs(ageSeconds)`, `ageSeconds`],
      [`return isOurs && `, `return `],
    ],
  },
  {
    area: 'limits',
    file: 'src/actions/limits.ts',
    tests: ['src/actions/limits.test.ts', 'src/api/widget-auth-safety.test.ts', 'src/admin/operators/lock-out.test.ts'],
    mutants: [
      [`if (count <= rule.limit) return undefined`, `if (count <= rule.limit + 1) return undefined`],
      [`for (const taken of limits.slice(0, index)) await giveBackLimit(service, ...taken)`, ``],
      [`if (count >= door.wrongOfAddress.limit)`, `if (count > 1_000_000)`],
      [`isKnownAddress ? door.known : door.anywhere`, `isKnownAddress ? door.anywhere : door.anywhere`],
      [`await clearLimit(service, ...here)`, ``],
    ],
  },
  {
    area: 'limits',
    file: 'src/platform/address.ts',
    tests: ['src/platform/address.test.ts'],
    mutants: [
      [`inHex(numbers.slice(0, 4))`, `inHex(numbers)`],
      [`return isMapped ? groups`, `return isMapped && groups.length > 8 ? groups`],
    ],
  },
  {
    area: 'limits',
    file: 'src/actions/attempts.ts',
    tests: ['src/api/widget-auth.test.ts', 'src/actions/apps/authenticate.test.ts'],
    mutants: [
      [`window.count < limit || window.endsAt`, `window.count <= limit || window.endsAt`],
      [`Math.max(0, window.count - limit)`, `0`],
    ],
  },
  {
    area: 'limits',
    file: 'src/actions/people/mail-code.ts',
    tests: ['src/api/widget-auth.test.ts'],
    mutants: [
      [`  service.wrongCodes.count(where, service.now())\n`, ``],
      [`export const maxTries = 5`, `export const maxTries = 50`],
    ],
  },
  {
    area: 'limits',
    file: 'src/store/people/mailed-codes.ts',
    tests: ['src/api/widget-auth.test.ts'],
    mutants: [
      [`set tries = tries + 1 where`, `set tries = tries where`],
      [`expires_at > now() and tries < $4`, `tries < $4`],
    ],
  },
  {
    area: 'requests',
    file: 'src/actions/apps/quota.ts',
    tests: ['test/tenant-bounds.test.ts'],
    mutants: [
      [`mine[kind] + count > bound || `, ``],
      [` || waitMs > timeLeftMs`, ``],
    ],
  },
  {
    area: 'requests',
    file: 'src/store/writer/turns.ts',
    tests: ['src/store/writer/turns.test.ts'],
    mutants: [
      [`isShared() ? sharedPlacesPerTurn : placesPerTurn`, `placesPerTurn`],
      [` || app === ''`, ``],
      [`(placesLeft <= 0 && mine + places > surePerApp)`, `placesLeft <= 0`],
    ],
  },
  {
    area: 'requests',
    file: 'src/store/writer/fast-lane.ts',
    tests: ['src/store/writer/shares.test.ts'],
    mutants: [
      [`isShared() ? mostOfSharedBatch : lane.limits.batch`, `lane.limits.batch`],
      [`standing.apps > 1 || isShared() ?`, `standing.apps > 1 ?`],
      [`count >= fewestOfCrowd`, `count > 0`],
    ],
  },
  {
    area: 'requests',
    file: 'src/store/shared-reader.ts',
    tests: ['test/shared-reader.test.ts'],
    mutants: [
      [`runInTurn(clientId, () => resolve(`, `((_: string, run: () => void) => run())(clientId, () => resolve(`],
    ],
  },
  {
    area: 'requests',
    file: 'src/api/server-bulk.ts',
    tests: ['test/tenant-bounds.test.ts'],
    mutants: [
      [`if (!credentials && text.length > maxUnknownLength) {`, `if (text === '') {`],
      [`if (i % sliceLength === 0 && i > 0) await turnFor(app.clientId, sliceLength)`, ``],
    ],
  },
  {
    area: 'requests',
    file: 'src/api/client-call.ts',
    tests: ['src/actions/apps/authenticate.test.ts', 'src/api/server.test.ts'],
    mutants: [
      [`request.headers.has('origin') || `, ``],
      [` || request.headers.has('sec-fetch-site')`, ``],
      [
        `if (!scope || app.scopes.includes(scope)) return { app }`,
        `if (!scope || app.scopes.length > 0) return { app }`,
      ],
      [`if (spoiled && /^client(Id|Secret)$/.test(spoiled.field)) return { refusal: refuseSpoiled(spoiled) }`, ``],
      [`  if (read.spoiled) return { refusal: refuseSpoiled(read.spoiled) }\n`, ``],
    ],
  },
  {
    area: 'requests',
    file: 'src/api/widget-call.ts',
    tests: [
      'src/api/widget.test.ts',
      'src/api/widget-auth-safety.test.ts',
      'src/api/widget-auth.test.ts',
      'test/every-proof.test.ts',
    ],
    mutants: [
      [`  if (end) return { refusal`, `  if (end?.code === 'INVALID_SESSION') return { refusal`],
      [`  if (unproved) return { refusal: unproved }\n`, ``],
      [`  if (query.spoiled)\n`, `  if (query.spoiled && query.spoiled.field === '')\n`],
      [`service.apps.findActive(parsed.input.clientId)`, `service.apps.known(parsed.input.clientId)`],
      [
        `): Promise<SessionCall<T>> {\n  if (!isFromOwnPage`,
        `): Promise<SessionCall<T>> {\n  if (isFromOwnPage.length < 0 && !isFromOwnPage`,
      ],
    ],
  },
  {
    area: 'requests',
    file: 'src/actions/people/proofs.ts',
    tests: ['test/every-proof.test.ts', 'test/app-alone.test.ts'],
    mutants: [
      [`if (deviceId === null) return 'session'`, `if (deviceId === null) return 'person'`],
      [`return presenceUntil === null ? 'person' : 'presence'`, `return 'presence'`],
      [`return counterAccount === counterAccountOfApp(session.clientId)`, `return true`],
    ],
  },
  {
    area: 'requests',
    file: 'src/store/people/widget-sessions.ts',
    tests: ['test/devices.test.ts', 'test/every-proof.test.ts'],
    mutants: [
      [`and d.user_id = s.user_id and d.revoked_at`, `and d.revoked_at`],
      [`and d.revoked_at is null and d.expires_at > now()`, `and d.expires_at > now()`],
      [`and d.revoked_at is null and d.expires_at > now()`, `and d.revoked_at is null`],
      [`expires_at > now() - interval '15 minutes'`, `expires_at > now()`],
    ],
  },
  {
    area: 'requests',
    file: 'src/store/paper-links.ts',
    tests: ['test/devices.test.ts', 'src/widget/papers.test.ts'],
    mutants: [
      [`and s.revoked_at is null`, ``],
      [`d.id = p.device_id and d.revoked_at is null and`, `d.id = p.device_id and`],
      [`p.expires_at > now() and u.id`, `u.id`],
    ],
  },
  {
    area: 'requests',
    file: 'src/web/own-origin.ts',
    tests: ['src/web/own-origin.test.ts'],
    mutants: [
      [`if (site !== null && site !== 'same-origin') return false`, ``],
      [`if (origin === null) return false`, `if (origin === null) return true`],
      [`if (isProduction || !URL.canParse(origin)) return false`, `if (!URL.canParse(origin)) return false`],
    ],
  },
  {
    area: 'requests',
    file: 'src/admin/kit/guard.ts',
    tests: [
      'src/admin/kit/guard.test.ts',
      'src/admin/security.test.ts',
      'src/admin/rights.test.ts',
      'test/every-route.test.ts',
    ],
    mutants: [
      [`route.access !== 'public' && !isAtStage(route.access, me)`, `route.access !== 'public' && !me`],
      [`return bound !== '' && isFormToken(bound, token)`, `return bound !== ''`],
      [`if (right && !hasRight(me!.operator.role, right))`, `if (right && me!.operator.role.length === 0)`],
      [`&& !/\\.\\.|\\/sign-/.test(text)`, ``],
      [`if (route.method === 'POST' && !isFromOwnPage(`, `if (route.method === 'GET' && !isFromOwnPage(`],
    ],
  },
  {
    area: 'requests',
    file: 'src/web/headers.ts',
    tests: ['test/seen-from-outside.test.ts', 'test/bad-input.test.ts', 'src/admin/security.test.ts'],
    mutants: [
      [`  'x-frame-options': 'DENY',\n`, ``],
      [`default-src 'none'; frame-ancestors 'none'`, `default-src 'none'`],
      [`  'cache-control': 'no-store',\n`, ``],
    ],
  },
  {
    area: 'requests',
    file: 'src/widget/client/session-in-history.ts',
    tests: ['src/widget/client/session-in-history.test.ts'],
    mutants: [
      [`kind === 'signed-out' ? null : given`, `given`],
      [`isSessionToken(session) ? session : null`, `typeof session === 'string' ? session : null`],
    ],
  },
]
