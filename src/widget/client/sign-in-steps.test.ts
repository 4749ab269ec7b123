import { expect, test } from 'bun:test'
import { cleanValues, findProblems, problemsOf } from './sign-in-steps.ts'

const failure = (code: string, fields = {}) => ({ code, fields, retryAfterSeconds: 0 })

test('each missing field is named', () => {
  expect(findProblems('sign-up', { firstName: ' ', email: 'ada', password: 'short' })).toEqual({
    firstName: 'needed',
    lastName: 'needed',
    email: 'emailWrong',
    password: 'passwordLength',
  })
})

test('signing in does not judge an old password', () => {
  expect(findProblems('login', { email: 'ada@example.com', password: 'x' })).toEqual({})
})

test('a password is counted in characters, not in bytes', () => {
  expect(findProblems('reset', { code: '1', password: '🦙🦙🦙🦙🦙🦙🦙🦙' })).toEqual({})
  expect(findProblems('reset', { code: '1', password: '🦙🦙🦙🦙' })).toEqual({ password: 'passwordLength' })
})

test('a password goes out as it was typed, the rest without the spaces around it', () => {
  expect(cleanValues({ email: ' ada@example.com ', password: ' a b ', code: ' 123 456 ' })).toEqual({
    email: 'ada@example.com',
    password: ' a b ',
    code: '123456',
  })
})

test('each refusal is shown at the field it belongs to', () => {
  expect(problemsOf(failure('INVALID_CREDENTIALS'))).toEqual({ form: 'credentialsWrong' })
  expect(problemsOf(failure('INVALID_CODE'))).toEqual({ code: 'codeWrong' })
  expect(problemsOf(failure('WEAK_PASSWORD'))).toEqual({ password: 'passwordWeak' })
  expect(problemsOf(failure('INVALID_REQUEST', { email: 'is wrong' }))).toEqual({ email: 'emailWrong' })
  expect(problemsOf(failure('INVALID_REQUEST', { handle: 'is missing' }))).toEqual({ code: 'codeWrong' })
  expect(problemsOf(failure('INTERNAL'))).toEqual({ form: 'wentWrong' })
})
