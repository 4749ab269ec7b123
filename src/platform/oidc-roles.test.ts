import { expect, test } from 'bun:test'
import { parseRoleRules } from './oidc-roles.ts'

test('a rule has a role, a claim and a value, and the claim may be an address', () => {
  expect(parseRoleRules('admin=groups:wallet-admins, viewer = realm_access.roles : staff')).toEqual([
    { role: 'admin', claim: 'groups', value: 'wallet-admins' },
    { role: 'viewer', claim: 'realm_access.roles', value: 'staff' },
  ])
  expect(parseRoleRules('support=https://x.example/dept:help')).toEqual([
    { role: 'support', claim: 'https://x.example/dept', value: 'help' },
  ])
})

test.each([
  '',
  'admin',
  'admin=',
  'admin=groups',
  'admin=groups:',
  'admin=:x',
  '=groups:x',
  'owner=groups:x',
  'groups:admin=x',
  'admin=groups:x,',
])('the text “%s” is no rule', (text) => expect(parseRoleRules(text)).toBeUndefined())
