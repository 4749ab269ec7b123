/** A mail server of the simplest kind, which can be away, refuse, or hang up in the middle. */
import { createServer, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

export async function startMailServer() {
  /** The lines of every session, and each mail that was taken, as it came. */
  const lines: string[] = []
  const taken: { readonly to: string; readonly message: string }[] = []
  const behaviour = { refuseNext: 0, isRefusing: false, isHangingUp: false, greetsAfterMs: 0 }
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    let isData = false
    let text = ''
    let to = ''
    let message: string[] = []
    setTimeout(() => socket.write('220 test\r\n'), behaviour.greetsAfterMs)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.on('data', (chunk) => {
      text += String(chunk)
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        lines.push(line)
        if (isData && line !== '.') message.push(line)
        else if (isData) {
          isData = false
          taken.push({ to, message: message.join('\n') })
          message = []
          if (behaviour.isHangingUp) socket.destroy()
          else socket.write('250 taken\r\n')
        } else if (line === 'DATA') {
          isData = true
          socket.write('354 go on\r\n')
        } else if (line.startsWith('RCPT') && behaviour.isRefusing) {
          socket.write('550 no such mailbox\r\n')
        } else if (line.startsWith('MAIL') && behaviour.refuseNext > 0) {
          behaviour.refuseNext--
          socket.write('451 later\r\n')
        } else {
          to = /^RCPT TO:<(.*)>/.exec(line)?.[1] ?? to
          socket.write('250 fine\r\n')
        }
      }
    })
  })
  const listenOnce = (port: number) =>
    new Promise<boolean>((resolve) => {
      const onError = () => resolve(false)
      server.once('error', onError)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', onError)
        resolve(true)
      })
    })
  const listen = async (port: number) => {
    // Another test may be trying just now whether the port is free.
    while (!(await listenOnce(port))) await Bun.sleep(20)
  }
  // The port is closed and opened again, and no other process may take it meanwhile.
  const port = await freePort()
  await listen(port)
  return {
    url: `smtp://127.0.0.1:${port}`,
    lines,
    taken,
    behaviour,
    /** The subjects of the mails to an address, read as mail programs do. */
    subjects: (email: string) => taken.filter(({ to }) => to === email).map(({ message }) => subjectOf(message)),
    goAway: () => {
      for (const socket of open) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
    comeBack: () => listen(port),
  }
}

/** Headers are folded, and what is not ASCII is encoded by words (RFC 2047). */
function subjectOf(message: string): string {
  const [, folded = ''] = /^Subject: ((?:.*)(?:\n[ \t].*)*)/m.exec(message) ?? []
  return folded
    .replace(/\n[ \t]/g, ' ')
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/g, (_, how: string, text: string) =>
      how === 'B' ? Buffer.from(text, 'base64').toString() : decodeQ(text),
    )
}

function decodeQ(text: string): string {
  return decodeURIComponent(text.replace(/_/g, ' ').replace(/%/g, '%25').replace(/=/g, '%'))
}
