import { expect, test } from 'bun:test'
import { findPasswordProblem } from './password-rules.ts'

const problem = (password: string, email = 'ada.lovelace@example.com') => findPasswordProblem(password, email)

test.each([
  'seven tired llamas',
  'correct horse battery staple',
  'Tr0ub4dor&3x',
  'пароль-длинный-достаточно',
  '密码是很长的一句话',
  '🦙🦄🐢🐙🦊🐝🐳🦉',
  'wzpkvxqt',
  'a\u0000bcdxyz!q',
  `Zq${'x9'.repeat(20)}#kLm`,
  'y'.repeat(200) + 'abc7!Q',
])('the password %j will do', (password) => {
  expect(problem(password)).toBeUndefined()
})

test.each(['', 'short', '1234567', '🦙🦄🐢🐙🦊🐝🐳'])('the password %j is too short', (password) => {
  expect(problem(password)).toContain('at least 8')
})

const long = (count: number) =>
  Array.from({ length: count }, (_, i) => '🦙🦄🐢🐙🦊🐝🐳🦉'.slice((i % 8) * 2, (i % 8) * 2 + 2))

test('256 characters will do and 257 will not, whatever they are written with', () => {
  expect(problem(`${long(250).join('')}xyz!qa`)).toBeUndefined()
  expect(problem(`${long(251).join('')}xyz!qa`)).toContain('at most 256')
})

test.each([
  'aaaaaaaa',
  'abababab',
  'abcabcabc',
  'passpass',
  '12345678',
  '87654321',
  '0123456789',
  'abcdefgh',
  'qwertyuiop',
  'qwerty123',
  'abc12345',
  '1qaz2wsx',
  '🦙🦙🦙🦙🦙🦙🦙🦙🦙',
])('the password %j is a pattern', (password) => {
  expect(problem(password)).toContain('pattern')
})

test.each([
  'password',
  'Password1',
  'PASSWORD123!',
  'P@ssw0rd',
  'p4$$w0rd!!',
  'Iloveyou1',
  'Dragon2024!',
  '!Sunshine1',
  'ｐａｓｓｗｏｒｄ',
  'liverpool1',
  'Football99',
  'contraseña',
  'qwerty2024',
])('the password %j is common', (password) => {
  expect(problem(password)).toBeDefined()
})

test('digits alone are too few to choose from', () => {
  expect(problem('19870612')).toContain('digits')
})

test('the name in the email address is no password, but may be part of one', () => {
  expect(problem('ada.lovelace1')).toContain('email')
  expect(problem('Ada.Lovelace@example.com')).toContain('email')
  expect(problem('ada.lovelace likes numbers')).toBeUndefined()
  expect(problem('xylophone', 'xy@example.com')).toBeUndefined()
})
