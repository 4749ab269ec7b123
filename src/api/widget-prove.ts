/** The password, given inside the widget: this browser becomes a device of the user, who is present for ten minutes. */
import { z } from 'zod'
import { provePresence } from '../actions/people/trust-device.ts'
import type { Service } from '../actions/service.ts'
import { answer } from './reply.ts'
import type { Route } from './route.ts'
import { timestamp } from './shapes.ts'
import { toProvedRefusal } from './widget-call.ts'
import { deviceCookie } from './widget-device.ts'
import { sessionRoute } from './widget-session-route.ts'
import { password } from './widget-shapes.ts'

const output = z
  .object({
    proof: z.literal('presence'),
    presenceUntil: timestamp.describe('Until when the password counts'),
    deviceToken: z
      .string()
      .optional()
      .describe('With `keep: "page"`: for the header `billfold-device` of later calls; valid for ten minutes'),
  })
  .meta({ id: 'Presence' })

export function proveRoute(service: Service): Route {
  const keep = z
    .enum(['cookie', 'page'], 'must be cookie or page')
    .default('cookie')
    .describe('`page`: for a browser that keeps no cookie in a frame; only the open page keeps the token')
  return sessionRoute(service, z.object({ password, keep }), {
    method: 'POST',
    path: '/api/widget/account/prove',
    proof: 'session',
    setsDevice: true,
    summary: 'Sign in on this device with the password',
    description:
      'Sets the cookie `__Host-billfold-device`, or renews the time of the device that the call comes from. Attempts count like those of signing in.',
    output,
    errors: ['INVALID_CREDENTIALS', 'RATE_LIMITED'],
    example: {
      input: { password: 'seven tired llamas' },
      output: { proof: 'presence', presenceUntil: '2026-01-31T12:10:00.000Z' },
    },
    run: async (session, input, from) => {
      const isOfPage = input.keep === 'page'
      const result = await provePresence(service, session, { ...from, password: input.password, isOfPage })
      if (result.kind !== 'present') return toProvedRefusal(result)!
      const { until, deviceToken } = result
      const proved = answer({
        proof: 'presence',
        presenceUntil: until.toISOString(),
        ...(isOfPage && { deviceToken }),
      })
      return deviceToken === undefined || isOfPage ? proved : { ...proved, headers: deviceCookie(deviceToken) }
    },
  })
}
