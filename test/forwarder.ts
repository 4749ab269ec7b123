/** A wire to PostgreSQL that can be cut and mended, or go silent. */
import { createConnection, createServer, type Socket } from 'node:net'
import type { Connection } from '../src/store/database.ts'

/** A connection that was given as an URL, in its parts: in an URL the driver would look for its host, not in `host`. */
function partsOf({ connectionString, ...rest }: Connection): Connection {
  if (connectionString === undefined) return rest
  const { hostname, port, username, password, pathname } = new URL(connectionString)
  return {
    ...rest,
    host: decodeURIComponent(hostname),
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
  }
}

export async function openForwarder(given: Connection) {
  const target = partsOf(given)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const { host = '127.0.0.1', port = 5432 } = target
    const far = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection(port, host)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const connection: Connection = { ...target, host: '127.0.0.1', port }
  return {
    connection,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend: () => {
      isCut = false
    },
    /** Nothing more passes, and nobody is told; new connections are as good as ever. */
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
