/** Reads a password for a new account: from BILLFOLD_PASSWORD, from stdin or from a hidden prompt; never from an argument. */
import { CommandRefused, type Io } from './command.ts'

const minLength = 8
const maxLength = 256

export async function readPassword(io: Io): Promise<string> {
  const password =
    io.environment['BILLFOLD_PASSWORD'] ?? (io.input.isTTY ? await askTwice(io) : await readLine(io.input))
  if (password === '')
    throw new CommandRefused('No password: set BILLFOLD_PASSWORD, write it to stdin, or run this on a terminal.')
  const length = Array.from(password).length
  if (length < minLength || length > maxLength || !password.isWellFormed())
    throw new CommandRefused(`A password has ${minLength} to ${maxLength} characters.`)
  return password
}

/** Reads the first line; the line break of a file or of `echo` is not part of the password. */
export async function readLine(input: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.includes('\n') || text.length > 4 * maxLength) break
  }
  return text.split(/\r?\n/)[0]!
}

async function askTwice(io: Io): Promise<string> {
  const password = await ask(io, 'Password (not shown): ')
  if ((await ask(io, 'The same again: ')) !== password) throw new CommandRefused('The two passwords differ.')
  return password
}

/** A terminal in raw mode shows nothing, and this function must handle backspace, Enter and Ctrl-C. */
async function ask({ input, errors }: Io, question: string): Promise<string> {
  // Set raw mode before the question, or fast typing would be visible.
  input.setRawMode(true)
  input.setEncoding('utf8')
  errors.write(question)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let typed = ''
  const read = (text: string) => {
    for (const character of text) {
      if (character === '\r' || character === '\n' || character === '\u0004') return resolve(typed)
      if (character === '\u0003') return reject(new Error('Interrupted.'))
      if (character === '\u0015') typed = ''
      else if (character === '\u007f' || character === '\b') typed = Array.from(typed).slice(0, -1).join('')
      else typed += character
    }
  }
  input.on('data', read)
  input.resume()
  try {
    return await promise
  } finally {
    input.off('data', read)
    input.setRawMode(false)
    input.pause()
    errors.write('\n')
  }
}
