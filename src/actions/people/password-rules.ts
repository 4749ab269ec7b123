/** Rules for new passwords: 8 to 256 characters of any kind, and not a common or guessable one. */
import { readFileSync } from 'node:fs'

const minPasswordLength = 8
export const maxPasswordLength = 256

/** The problem to show beside the field; undefined when the password is accepted. */
export function findPasswordProblem(password: string, email: string): string | undefined {
  // Compare what will be hashed. Count code points: people count neither bytes nor UTF-16 units.
  const text = password.normalize('NFKC').toLowerCase()
  const length = countCharacters(password)
  if (length < minPasswordLength) return `must have at least ${minPasswordLength} characters`
  if (length > maxPasswordLength) return `must have at most ${maxPasswordLength} characters`
  if (isRepetitive(text) || isRun(text)) return 'is a pattern that is easy to guess'
  if (/^\d{1,9}$/.test(text)) return 'must be more than a few digits'
  if (isCommon(text)) return 'is one of the most common passwords'
  if (isMadeOf(text, email)) return 'must not be made of the email address'
  return undefined
}

function countCharacters(text: string): number {
  return Array.from(text).length
}

/** Few different characters, or a short piece repeated. */
function isRepetitive(text: string): boolean {
  return new Set(text).size < 4 || /^(.{1,4})\1+.{0,3}$/su.test(text)
}

const rows = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  'wxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
].flatMap((row) => [row, row.split('').reverse().join('')])

/** Almost all characters are neighbours in the alphabet or on a keyboard: abc12345, qwertyuiop, 87654321. */
function isRun(text: string): boolean {
  let steps = 0
  for (let i = 1; i < text.length; i++) {
    const pair = text.slice(i - 1, i + 1)
    if (rows.some((row) => row.includes(pair))) steps++
  }
  return text.length - steps <= 2
}

const common = new Set(
  readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .flatMap((line) => line.split(' ')),
)

const swaps: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

/** A common password, or a common word with up to six digits and signs around it: Dragon2024!, P@ssw0rd1. */
function isCommon(text: string): boolean {
  if (common.has(text)) return true
  const [before = ''] = /^\P{L}*/u.exec(text) ?? []
  const [after = ''] = /(?<!\P{L})\P{L}+$/u.exec(text.slice(before.length)) ?? []
  const word = text.slice(before.length, text.length - after.length)
  if (before.length + after.length > 6) return false
  return common.has(word) || common.has(unswapped(word)) || common.has(unswapped(text))
}

function unswapped(text: string): string {
  return text.replace(/[013457@$!]/g, (char) => swaps[char]!)
}

/** A password may contain the name in the address if the rest alone is long enough. */
function isMadeOf(text: string, email: string): boolean {
  const whole = email.trim().normalize('NFKC').toLowerCase()
  const name = whole.split('@')[0]!
  if (name.length < 3) return false
  const rest = text.replaceAll(whole, '').replaceAll(name, '')
  return rest !== text && countCharacters(rest) < minPasswordLength
}
