import { afterAll, beforeAll, expect, test } from 'bun:test'
import { host, newOperator, newVisitor, type TestOperator } from '../../../test/operator.ts'
import { openTestService, type TestService } from '../../../test/service.ts'

let rig: TestService
let admin: TestOperator
let viewer: TestOperator

beforeAll(async () => {
  rig = await openTestService()
  admin = await newOperator(rig)
  viewer = await newOperator(rig, 'viewer')
})
afterAll(() => rig.close())

const ask = async (cookie: string) =>
  (await rig.app.fetch(new Request(`${host}/admin/account`, { headers: { cookie } }))).status

test('two session cookies count as none, even when one of them is valid', async () => {
  const right = `billfold-session=${admin.token}`
  const planted = `billfold-session=${viewer.token}`
  expect(await ask(`other=1; ${right}; billfold-form=x`)).toBe(200)
  for (const cookie of [
    `${right}; ${planted}`,
    `${planted}; ${right}`,
    `${right}; ${right}`,
    `${right};billfold-session=`,
  ])
    expect([cookie, await ask(cookie)]).toEqual([cookie, 303])
})

async function wayBack(next: string): Promise<string | undefined> {
  const page = await (await newVisitor(rig.app).get(`/admin/sign-in?next=${encodeURIComponent(next)}`)).text()
  return /name="next" value="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
}

test.each([
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '/admin/../../evil',
  '/admin/..',
  '/admin/wallets/../../evil',
  '/admin/..//evil.example',
  '/admin@evil.example',
  '/administration',
  '/admin/sign-out',
  'javascript:alert(1)',
])('signing in never redirects to %s', async (next) => {
  expect(await wayBack(next)).toBe('/admin')
})

test.each(['/admin', '/admin/wallets', '/admin/wallets?q=ada.l%40example.com&after=x', '/admin/apps/app_1.2/secrets'])(
  'after signing in one comes back to %s',
  async (next) => {
    expect(await wayBack(next)).toBe(next)
  },
)
