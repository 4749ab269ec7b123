import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ERROR_CODES, ERROR_MEANINGS, isErrorCode, parseHostMessage, parseWidgetMessage } from './contract.ts'
import type { WidgetMessage, WidgetMessageType } from './contract.ts'

const token = 'ws_3f0c1f9e-6f5b-4d7e-9f55-0e7d6f0c8a11'

/** One valid message of every type: the Record makes a missing one a type error. */
const samples: { [Type in WidgetMessageType]: Extract<WidgetMessage, { type: Type }> } = {
  SERVICE_WALLET_LOADED: { type: 'SERVICE_WALLET_LOADED', version: 1 },
  SERVICE_WALLET_UPDATED: { type: 'SERVICE_WALLET_UPDATED', version: 1 },
  SERVICE_OPEN_TOPUP: {
    type: 'SERVICE_OPEN_TOPUP',
    version: 1,
    url: `https://pay.example/widget/topup?session=${token}`,
  },
  SERVICE_AUTH_REQUIRED: { type: 'SERVICE_AUTH_REQUIRED', version: 1 },
  SERVICE_AUTH_SUCCESS: {
    type: 'SERVICE_AUTH_SUCCESS',
    version: 1,
    serviceUserId: 'su_AbCdEf0123456789-_xyzw',
    linkCode: 'lc_0123456789abcdef',
  },
  SERVICE_LOGOUT_REQUEST: { type: 'SERVICE_LOGOUT_REQUEST', version: 1 },
  SERVICE_RESIZE: { type: 'SERVICE_RESIZE', version: 1, height: 412.5 },
  SERVICE_SESSION_EXPIRING: { type: 'SERVICE_SESSION_EXPIRING', version: 1, expiresAt: '2025-03-01T10:00:00.000Z' },
  SERVICE_SESSION_EXPIRED: { type: 'SERVICE_SESSION_EXPIRED', version: 1 },
  SERVICE_ERROR: { type: 'SERVICE_ERROR', version: 1, code: 'WALLET_INACTIVE' },
}
const types = Object.keys(samples) as WidgetMessageType[]

describe('messages of the widget', () => {
  test.each(types)('%s is understood as it is', (type) => {
    expect(parseWidgetMessage(samples[type])).toEqual(samples[type])
  })

  test.each(types)('%s loses the fields that the contract does not name', (type) => {
    expect(parseWidgetMessage({ ...samples[type], clientSecret: 'x', onload: 'y' })).toEqual(samples[type])
  })

  test.each(types)('%s is not accepted without its version or with another one', (type) => {
    for (const version of [undefined, null, 0, 2, '1', 1n, true, [1]]) {
      expect(parseWidgetMessage({ ...samples[type], version })).toBeNull()
    }
  })

  test.each(types)('%s is not accepted when a field is missing or has another type', (type) => {
    const payload = Object.keys(samples[type]).filter((field) => field !== 'type' && field !== 'version')
    for (const field of payload) {
      for (const wrong of [undefined, null, {}, [], ['x'], '', Number.NaN, -1, Infinity, Symbol('x'), ' x ', 'x\n']) {
        expect(parseWidgetMessage({ ...samples[type], [field]: wrong })).toBeNull()
      }
    }
  })

  test.each([
    [{ ...samples.SERVICE_WALLET_UPDATED, paid: 14.98 }, { paid: 14.98 }],
    [{ ...samples.SERVICE_WALLET_UPDATED, paid: -1 }, {}],
    [{ ...samples.SERVICE_WALLET_UPDATED, paid: '14.98' }, {}],
    [{ ...samples.SERVICE_WALLET_UPDATED, paid: Infinity }, {}],
    [{ ...samples.SERVICE_WALLET_LOADED, page: 'topup' }, { page: 'topup' }],
    [{ ...samples.SERVICE_WALLET_LOADED, page: 'x' }, {}],
  ])('of %j only what is well-formed beyond the contract is kept', (data, kept) => {
    expect(parseWidgetMessage(data)).toEqual({ ...samples[data.type], ...kept } as WidgetMessage)
  })

  test.each([
    ['an address that runs script', { ...samples.SERVICE_OPEN_TOPUP, url: 'javascript:alert(1)' }],
    ['a relative address', { ...samples.SERVICE_OPEN_TOPUP, url: '/widget/topup' }],
    ['an address without a host', { ...samples.SERVICE_OPEN_TOPUP, url: 'https://' }],
    ['an address of megabytes', { ...samples.SERVICE_OPEN_TOPUP, url: `https://a.example/${'x'.repeat(3000)}` }],
    ['an id of another kind', { ...samples.SERVICE_AUTH_SUCCESS, serviceUserId: 'user-0123456789abcdef' }],
    ['an id with a line break', { ...samples.SERVICE_AUTH_SUCCESS, serviceUserId: 'su_0123456789abcdef\n' }],
    ['a code with markup', { ...samples.SERVICE_AUTH_SUCCESS, linkCode: '<img>' }],
    ['a height no page has', { ...samples.SERVICE_RESIZE, height: 1e9 }],
    ['a day that does not exist', { ...samples.SERVICE_SESSION_EXPIRING, expiresAt: '2025-13-01T10:00:00Z' }],
    ['a local time', { ...samples.SERVICE_SESSION_EXPIRING, expiresAt: '2025-03-01T10:00:00' }],
    ['a sentence as a code', { ...samples.SERVICE_ERROR, code: 'It did not work' }],
    ['an array that looks like a message', Object.assign([], samples.SERVICE_WALLET_UPDATED)],
    ['the text of a message', JSON.stringify(samples.SERVICE_WALLET_UPDATED)],
    ['the message of the other direction', { type: 'SERVICE_SESSION', version: 1, sessionToken: token }],
    ['a name every object has', { type: 'toString', version: 1 }],
  ])('a message of the widget is not %s', (_name, data) => {
    expect(parseWidgetMessage(data)).toBeNull()
  })

  test('a message of the widget is never made out of random data', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }), (data) => {
        expect(parseWidgetMessage(data)).toBeNull()
        expect(parseHostMessage(data)).toBeNull()
      }),
      { numRuns: 1000 },
    )
  })

  test('a message of the widget with random fields is refused, or holds fields of the right kind alone', () => {
    const fields = ['height', 'code', 'url', 'serviceUserId', 'linkCode', 'expiresAt', 'sessionToken']
    const value = fc.oneof(fc.anything(), fc.string(), fc.double(), fc.boolean(), fc.webUrl())
    const payload = fc.dictionary(fc.constantFrom(...fields, '__proto__', 'extra'), value)
    fc.assert(
      fc.property(fc.constantFrom(...types), payload, (type, rest) => {
        const message = parseWidgetMessage({ ...rest, type, version: 1 })
        if (message === null) return
        expect(Object.keys(message).sort()).toEqual(Object.keys(samples[type]).sort())
        for (const [field, sample] of Object.entries(samples[type])) {
          expect(typeof message[field as keyof typeof message]).toBe(typeof sample)
        }
        expect(parseWidgetMessage(message)).toEqual(message)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('messages to the widget', () => {
  const session = { type: 'SERVICE_SESSION', version: 1, sessionToken: token } as const

  test('the message to the widget carries a session token', () => {
    expect(parseHostMessage({ ...session, extra: 1 })).toEqual(session)
  })

  test.each([
    ['no token', { ...session, sessionToken: undefined }],
    ['a token of another kind', { ...session, sessionToken: 'ws_1' }],
    ['a token with more behind it', { ...session, sessionToken: `${token}&x=1` }],
    ['another version', { ...session, version: 2 }],
    ['another type', { ...session, type: 'SERVICE_LOGOUT_REQUEST' }],
    ['null', null],
  ])('the message to the widget is refused with %s', (_name, data) => {
    expect(parseHostMessage(data)).toBeNull()
  })
})

describe('codes', () => {
  test('the error codes are listed once each, with a meaning each', () => {
    expect(Object.keys(ERROR_MEANINGS).sort()).toEqual([...ERROR_CODES].sort())
    expect(new Set(Object.values(ERROR_MEANINGS)).size).toBe(ERROR_CODES.length)
  })

  test('the error codes are distinguished from other text', () => {
    expect(isErrorCode('INVALID_CLIENT')).toBe(true)
    expect(isErrorCode('toString')).toBe(false)
    expect(isErrorCode(1)).toBe(false)
  })
})
