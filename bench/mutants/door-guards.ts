/** The guards of doors: who is let in, with which secret, code or password, from where, and for how long. */
import type { Guarded } from './run.ts'

const area = 'doors'
const authenticate = 'src/actions/apps/authenticate.test.ts'
const seenFromOutside = 'test/seen-from-outside.test.ts'
const widgetAuth = 'src/api/widget-auth.test.ts'
const authSafety = 'src/api/widget-auth-safety.test.ts'
const authPairs = 'src/api/widget-auth-pairs.test.ts'
const widgetAccount = 'src/api/widget-account.test.ts'
const notify = 'src/actions/mails/notify.test.ts'
const devices = 'test/devices.test.ts'
const operatorSignIn = 'src/admin/operators/sign-in.test.ts'
const operatorSecurity = 'src/admin/security.test.ts'
const publicFetch = 'src/actions/public-fetch.test.ts'

export const doorGuards: readonly Guarded[] = [
  {
    area,
    file: 'src/actions/apps/authenticate.ts',
    tests: [authenticate],
    mutants: [
      [`!app?.isActive || !secret || hasEnded`, `!app || !secret || hasEnded`],
      [` || hasEnded(secret, service.apps.now())) return false`, `) return false`],
      [`if (timingSafeEqual(hash, secret.hash)) found = secret`, `found = secret`],
      [`if (slowed >= maxSlowed) return`, `if (slowed >= maxSlowed * 100) return`],
      [`if (excess === 0 || clientId === '') return`, `if (excess >= 0) return`],
      [`sent && !hasEnded(sent, service.apps.now()) ? sent : undefined`, `sent`],
      [`if (service.browserCalls.count(key, service.now()).excess > 0) return`, ``],
      [`[subject, networkOf(address), secret?.id].join(' ')`, `[subject, networkOf(address)].join(' ')`],
    ],
  },
  {
    area,
    file: 'src/actions/apps/authenticate.ts',
    tests: ['test/two-processes.test.ts'],
    mutants: [[`  await service.apps.refresh()\n`, ``]],
  },
  {
    area,
    file: 'src/actions/public-fetch.ts',
    tests: [publicFetch, 'src/actions/public-post.test.ts'],
    mutants: [
      [`addresses.length === 0 || !addresses.every(`, `!addresses.some(`],
      [`addresses.length === 0 || !addresses.every(`, `!addresses.every(`],
      [`if (family !== 0) check([{ address: host, family }])`, ``],
      [`.then((addresses) => (check(addresses), addresses))`, ``],
      [`if (length > maxBytes) answer()`, ``],
      [`.slice(0, maxBytes)`, ``],
      [`return await unlessAborted(signal, exchange())`, `return await exchange()`],
      [`if (response && !response.complete) response.destroy()`, ``],
      [`if (!wasReused || options.signal?.aborted) throw error`, `if (options.signal?.aborted) throw error`],
      [`  ['100.64.0.0', 10],\n`, ``],
      [`  ['169.254.0.0', 16],\n`, ``],
      [`  ['2002::', 16],\n`, ``],
      [`version === 6 && publicIpv6.check(address, 'ipv6') &&`, `version === 6 &&`],
    ],
  },
  {
    area,
    file: 'src/platform/client-address.ts',
    tests: ['src/platform/client-address.test.ts'],
    mutants: [
      [`for (let hop = 1; hop < trustedProxies; hop++)`, `for (let hop = 0; hop < trustedProxies; hop++)`],
      [`if (end < 1) return undefined`, `if (end < 1) return parseAddress(header)`],
      [`trustedProxies === 0 ? undefined : forwardedAddress`, `forwardedAddress`],
      [`request.headers.has('x-forwarded-for') && forwardedAddress`, `forwardedAddress`],
    ],
  },
  {
    area,
    file: 'src/api/strict-json.ts',
    tests: ['src/api/strict-json.test.ts'],
    mutants: [
      [`{ fatal: true }`, `{ fatal: false }`],
      [`value !== null && !Array.isArray(value)`, `value !== null`],
      [`return fields === fieldCount || seen ? undefined`, `return fields >= fieldCount || seen ? undefined`],
      [`significantDigits(text.slice(i, end)) > 15`, `significantDigits(text.slice(i, end)) > 16`],
      [`if (key in found) return`, `if (key === '') return`],
      [`if (++depth === 3) start = i`, `if (++depth >= 3) start = i`],
    ],
  },
  {
    area,
    file: 'src/web/body.ts',
    tests: ['test/half-a-request.test.ts', 'test/bad-input.test.ts', 'test/routes/large-bodies.test.ts'],
    mutants: [
      [`if (Number(declared) > limit) return Promise.resolve('too-long')`, ``],
      [`if (length > limit) return 'too-long'`, ``],
      [`if (count > maxLarge) return 'too-many'`, ``],
      [`      entry.giveUp()\n    }\n    isWatched`, `    }\n    isWatched`],
      [`if (underWay.size > 0) watch()`, ``],
    ],
  },
  {
    area,
    file: 'src/web/metrics-access.ts',
    tests: [seenFromOutside],
    mutants: [
      [`if (trustedProxies === 0 && headers.has('x-forwarded-for')) return false`, ``],
      [`if (metricsToken !== undefined) {`, `if (metricsToken !== undefined && headers.has('authorization')) {`],
    ],
  },
  {
    area,
    file: 'src/actions/apps/find-placement.ts',
    tests: ['src/actions/apps/find-placement.test.ts'],
    mutants: [
      [`parentOrigin === null || origin === parentOrigin`, `parentOrigin === null || origin !== ''`],
      [`session.isAppActive ? await`, `session ? await`],
      [`token === undefined || token === '' ? 'signed-out'`, `token === undefined ? 'signed-out'`],
      [`listing.filter((each) => each.isActive)`, `listing`],
      [`if (another) return { kind: 'unknown', reason: 'several-apps' }`, ``],
      [`return app && !another ? { app }`, `return app ? { app }`],
    ],
  },
  {
    area,
    file: 'src/actions/apps/origins.ts',
    tests: ['src/actions/apps/origins.test.ts'],
    mutants: [
      [`if (text.includes('*')) return`, `if (text === '*') return`],
      [`/[\\s;,'"\\\\<>]|\\p{Cc}/u`, `/[\\s,'"\\\\<>]|\\p{Cc}/u`],
      [`if (url.username || url.password) return`, `if (url.username) return`],
      [`if (isProduction && url.protocol !== 'https:') return`, `if (url.protocol === '') return`],
      [`return { origin: url.origin }`, `return { origin: text }`],
    ],
  },
  {
    area,
    file: 'src/actions/people/log-in.ts',
    tests: [widgetAuth, authSafety, authPairs, devices, notify],
    mutants: [
      [`  if (limited) return limited\n\n  const isRight`, `  const isRight`],
      [`if (!identity.userId || !isRight) {`, `if (!identity.userId) {`],
      [`if (result.kind === 'wrong') await countWrongGuess(service, userPasswords, guess)`, ``],
      [`    await replaceDevice(tx, userId, attempt)\n`, ``],
      [`if (isNewAddress) await notify(`, `if (!isNewAddress) await notify(`],
      [
        `if (!isSigningUp || !(await isPassword(service, password, signUpHash))) return { kind: 'wrong' }`,
        `if (!isSigningUp) return { kind: 'wrong' }`,
      ],
    ],
  },
  {
    area,
    file: 'src/actions/people/open-session.ts',
    tests: ['src/api/server.test.ts', 'src/api/widget.test.ts', widgetAccount, devices],
    mutants: [
      [
        `if (parentOrigin !== null && !app.allowedIframeParents.includes(parentOrigin)) return { kind: 'origin-not-allowed' }`,
        ``,
      ],
      [`if (isDisconnected) return { code`, `if (isDisconnected && isRevoked) return { code`],
      [`if (!isAppActive) return { code`, `if (!isAppActive && isRevoked) return { code`],
      [`if (isRevoked || isSignedOut) return`, `if (isRevoked) return`],
      [`if (isRevoked || isSignedOut) return`, `if (isSignedOut) return`],
      [`return isExpired ? { code: 'SESSION_EXPIRED' } : undefined`, `return undefined`],
      [`if (deviceId !== null) await updateDevicesRevoked(service.db.pool, userId, { id: deviceId })`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/sign-up.ts',
    tests: [widgetAuth, authSafety, authPairs, devices],
    mutants: [
      [`if (excess > 0) return { kind: 'limited', retryAfterSeconds: secondsLeft }`, ``],
      [
        `  const limited = await takeMailLimits(service, email, address, identity)\n  if (limited) return limited\n`,
        ``,
      ],
      [`isSame ? identity.signUpHash : null`, `identity.signUpHash`],
      [`passwordHash, hasPassword: false }`, `passwordHash, hasPassword: true }`],
    ],
  },
  {
    area,
    file: 'src/actions/people/reset-password.ts',
    tests: [widgetAuth, authSafety, widgetAccount, devices],
    mutants: [
      [`if (!(await useCode(tx, checked))) return undefined\n`, ``],
      [`    await deleteLinkCodesOfUser(tx, user.id)\n`, ``],
      [`    await updateLinksSignedOut(tx, user.id)\n`, ``],
      [`    await updateSessionsRevoked(tx, user.id, 'password-changed')\n`, ``],
      [`    await updateDevicesRevoked(tx, user.id)\n`, ``],
      [`    await notify(tx, user.id, notification, { id: newId(), lang: attempt.lang })\n`, ``],
      [`  await clearLimit(service, userPasswords.here, email, networkOf(address))\n`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/prove-password.ts',
    tests: [widgetAccount, devices, 'test/app-alone.test.ts'],
    mutants: [
      [`  if (limitedApp) return limitedApp\n`, ``],
      [`    await giveBackLimit(service, ...ofApp)\n    return limited`, `    return limited`],
      [`    await countWrongGuess(service, userPasswords, guess)\n`, ``],
      [`  await giveBackLimit(service, ...ofApp)\n  const`, `  const`],
      [`if (!(await isPassword(service, password, user.passwordHash))) {`, `if (user.passwordHash === null) {`],
    ],
  },
  {
    area,
    file: 'src/actions/people/change-password.ts',
    tests: [widgetAccount, devices],
    mutants: [
      [`if (!user || user.passwordHash !== provedHash) return false`, `if (!user) return false`],
      [`if (problem) return { kind: 'weak', problem }`, ``],
      [`    await deleteLinkCodesOfUser(tx, userId)\n`, ``],
      [`await updateLinksSignedOut(tx, userId, { exceptLinkId: linkId })`, ``],
      [`await updateSessionsRevoked(tx, userId, 'password-changed', { except: tokenHash })`, ``],
      [`await updateDevicesRevoked(tx, userId, { exceptId: deviceId ?? undefined })`, ``],
      [`{ exceptId: deviceId ?? undefined }`, `{}`],
    ],
  },
  {
    area,
    file: 'src/actions/people/change-email.ts',
    tests: [widgetAccount],
    mutants: [
      [`  if (limited) return limited\n  const [oldCode`, `  const [oldCode`],
      [`identity.userId ? { kind: 'taken', appName } :`, `identity.userId === '' ? { kind: 'taken', appName } :`],
      [`change.email !== email || !isOldRight || !isNewRight`, `!isOldRight || !isNewRight`],
      [`change.email !== email || !isOldRight || !isNewRight`, `change.email !== email || !isNewRight`],
      [`change.email !== email || !isOldRight || !isNewRight`, `change.email !== email || !isOldRight`],
      [`    service.wrongCodes.count(where, service.now())\n`, ``],
      [`!user || !(await deleteEmailChange(tx, userId, changeId))`, `!user`],
      [`if (sqlState(error) === uniqueViolation) return false`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/sign-out.ts',
    tests: [widgetAccount, devices],
    mutants: [
      [`if ((await updateLinksSignedOut(tx, userId, { clientId })) === 0) return false`, ``],
      [`    await deleteLinkCodesOfUser(tx, userId)\n`, ``],
      [`await updateDevicesRevoked(tx, userId, { clientId })`, ``],
      [
        `if (clientId === session.clientId && deviceId !== null) await`,
        `if (clientId === '' && deviceId !== null) await`,
      ],
      [`if ((await updateDevicesRevoked(tx, userId, { id })) === 0) return false`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/people/manage-links.ts',
    tests: ['src/api/widget.test.ts', widgetAccount, devices],
    mutants: [
      [`if (!link || !(await updateLinkDisconnected(tx, userId, link.id))) return false`, `if (!link) return false`],
      [`    await updateDevicesRevoked(tx, userId, { clientId })\n`, ``],
      [`if (isOther) await notify(`, `if (!isOther) await notify(`],
    ],
  },
  {
    area,
    file: 'src/store/people/devices.ts',
    tests: [devices, 'test/every-proof.test.ts'],
    mutants: [
      ['const unusedLifetime = `interval', 'const unusedLifetime = `24 * interval'],
      [`password_hash is not distinct from $9 for share`, `$9 is not distinct from $9 for share`],
      [
        `expires_at > now() and revoked_at is null\n         order by created_at desc`,
        `expires_at > now()\n         order by created_at desc`,
      ],
      [
        `set password_at = now() where id = $1 and revoked_at is null and expires_at > now()`,
        `set password_at = now() where id = $1`,
      ],
      ['least(${until}, ${alias}.expires_at) end', '${until} end'],
    ],
  },
  {
    area,
    file: 'src/actions/people/trust-device.ts',
    tests: [devices, widgetAccount],
    mutants: [
      [`if (proved.kind !== 'right') return proved`, `if (proved.kind === 'limited') return proved`],
      [`!(await lockUser(tx, userId)) || !(await lockSignedInLink(tx, linkId))`, `!(await lockUser(tx, userId))`],
      [`    await replaceDevice(tx, userId, from)\n`, ``],
      [`if (isNewAddress) await notify(`, `if (!isNewAddress) await notify(`],
    ],
  },
  {
    area,
    file: 'src/actions/operators/sign-in-operator.ts',
    tests: [
      operatorSignIn,
      operatorSecurity,
      'src/admin/operators/lock-out.test.ts',
      'src/admin/operators/oidc.test.ts',
    ],
    mutants: [
      [`operator?.isActive ? operator.passwordHash : null`, `operator ? operator.passwordHash : null`],
      [`operator.totpSealed === null ? 'enrol' : 'code'`, `operator.totpSealed === null ? 'full' : 'code'`],
      [`operator.role !== 'admin' || operator.totpSealed === null`, `operator.totpSealed === null`],
      [`operator.role !== 'admin' || operator.totpSealed === null`, `operator.role !== 'admin'`],
      [`    await deleteOperatorSessions(tx, operator.id, { only: session.id })\n    const token`, `    const token`],
      [`if (!mayUsePassword(service.config, operator)) {`, `if (operator.id === '') {`],
      [`if (!mayUsePassword(service.config, operator)) return 'oidc-only'`, ``],
      [`    await deleteOperatorSessions(tx, operator.id)\n`, ``],
      [`return !isProduction && !oidc?.isOnly`, `return !oidc?.isOnly`],
      [`return !isProduction && !oidc?.isOnly`, `return !isProduction`],
      [`if (!maySkipSecondFactor(service.config)) return undefined`, ``],
      [
        `await takeLimit(service, operatorCodes, operator.id, from)`,
        `undefined as { kind: 'limited'; isFirst: boolean; retryAfterSeconds: number } | undefined`,
      ],
      [`if (result.kind === 'session') await clearLimit(`, `if (result.kind === 'wrong') await clearLimit(`],
    ],
  },
  {
    area,
    file: 'src/actions/operators/second-factor.ts',
    tests: [operatorSignIn],
    mutants: [
      [`epochTolerance: periodSeconds }`, `epochTolerance: periodSeconds * 5 }`],
      [`(await store.updateTotpStep(db, operator.id, step)) ? 'app' : undefined`, `'app'`],
      [`if (!/^\\d{6}$/.test(token)) return undefined`, ``],
    ],
  },
  {
    area,
    file: 'src/actions/operators/manage-sessions.ts',
    tests: [operatorSecurity, operatorSignIn, 'test/every-route.test.ts', 'src/admin/bound-forms.test.ts'],
    mutants: [
      [`stage === 'full' ? fullMs : unfinishedMs`, `stage === 'full' ? fullMs : fullMs`],
      [`hashSecret(token), idleMs)`, `hashSecret(token), absoluteMs)`],
      [`if (isByHand && found`, `if (found`],
      [`return timingSafeEqual(expected, given)`, `return expected.length === given.length`],
      [`(await bindForm(tx, form)).kind`, `(await bindForm(tx, { ...form, id: newId() })).kind`],
    ],
  },
  {
    area,
    file: 'src/actions/secrets/seal.ts',
    tests: ['src/actions/secrets/seal.test.ts'],
    mutants: [
      [`if (!isSealed(sealed)) throw`, `if (sealed === '') throw`],
      [`if (data.toString('base64url') !== encoded) throw`, `if (data.length === 0) throw`],
      [`  decipher.setAAD(additionalData(context))\n`, `  decipher.setAAD(additionalData({ ...context, id: '' }))\n`],
      ['Buffer.from(`${purpose}:${id}`)', 'Buffer.from(purpose)'],
      [`const nonce = randomBytes(nonceLength)`, `const nonce = Buffer.alloc(nonceLength)`],
    ],
  },
  {
    area: 'settlements',
    file: 'src/actions/apps/settle-app.ts',
    tests: ['src/actions/apps/settle-app.test.ts'],
    mutants: [
      [`if (throughDay > closedDay) return 'not-closed'`, ``],
      [`if (last && throughDay <= last.throughDay) return 'settled'`, ``],
      [`if (owedMinor === 0n) return 'nothing'`, ``],
      [`if (amountMinor !== undefined && amountMinor !== owedMinor) return 'changed'`, ``],
      [`if (last?.id !== reverses) return 'none'`, `if (!last) return 'none'`],
      [`amountMinor: -last.amountMinor`, `amountMinor: last.amountMinor`],
      [`known.clientId === clientId && isSame(known) ? known`, `isSame(known) ? known`],
      [`known.clientId === clientId && isSame(known) ? known`, `known.clientId === clientId ? known`],
      [`positionMinor - settledMinor,`, `positionMinor,`],
    ],
  },
]
