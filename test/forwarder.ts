/** A TCP proxy to PostgreSQL that can be cut, refused, made slow or silent, or cut while a commit is answered. */
import { createConnection, createServer, type Socket } from 'node:net'
import type { Connection } from '../src/store/connection/open-client.ts'

/** Splits a connection string into its parts: with a string, the driver would ignore `host`. */
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

type Wire = { readonly near: Socket; readonly far: Socket; isDead: boolean }

export async function openForwarder(given: Connection) {
  const target = partsOf(given)
  const { host = '127.0.0.1', port: farPort = 5432 } = target
  const wires = new Set<Wire>()
  const usual = { isCut: false, isSilent: false, silentAt: '', delayMs: 0, cutsCommits: false }
  const state = { ...usual }

  const open = (near: Socket) => {
    if (state.isCut) {
      near.resetAndDestroy()
      return
    }
    const far = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${farPort}`) : createConnection(farPort, host)
    const wire: Wire = { near, far, isDead: state.isSilent }
    wires.add(wire)
    forward(wire, near, far, (chunk) => {
      if (state.silentAt !== '' && chunk.includes(state.silentAt)) goSilent()
      return false
    })
    forward(wire, far, near, (chunk) => state.cutsCommits && chunk.includes('COMMIT\0'))
  }

  /** A dead wire drops its data, and does not report the end of one side to the other. */
  const forward = (wire: Wire, from: Socket, to: Socket, isTheEnd: (chunk: Buffer) => boolean) => {
    let sent = Promise.resolve()
    let delayed = 0
    from.on('data', (chunk: Buffer) => {
      if (wire.isDead) return
      if (isTheEnd(chunk)) return cut(wire)
      if (state.isSilent) return
      const { delayMs } = state
      if (delayMs === 0 && delayed === 0) return void to.write(chunk)
      // Keeps the order of the data, also when the delay ends: TCP never reorders a stream.
      delayed++
      sent = sent.then(async () => {
        await Bun.sleep(delayMs)
        delayed--
        if (!wire.isDead) to.write(chunk)
      })
    })
    from.on('error', () => {})
    from.on('close', () => {
      if (wire.isDead) return
      to.destroy()
      wires.delete(wire)
    })
  }

  const cut = (wire: Wire) => {
    wires.delete(wire)
    wire.near.resetAndDestroy()
    wire.far.destroy()
  }

  const goSilent = () => {
    state.isSilent = true
    for (const wire of wires) wire.isDead = true
  }

  const server = createServer(open).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const connection: Connection = { ...target, host: '127.0.0.1', port, ssl: false }
  return {
    connection,
    url: `postgres://${target.user}:${String(target.password ?? '')}@127.0.0.1:${port}/${target.database}`,
    /** Open connections, without dead ones. */
    count: () => [...wires].filter((wire) => !wire.isDead).length,
    /** Resets the connections, and refuses new ones. */
    cut: () => {
      state.isCut = true
      for (const wire of wires) cut(wire)
    },
    mend: () => {
      Object.assign(state, usual)
    },
    /** Existing connections go silent: no data passes, and neither side is notified. New ones work. */
    silence: () => {
      for (const wire of wires) wire.isDead = true
    },
    /** The same for new connections too, until `mend`; connections that went silent stay silent. */
    goSilent,
    /** The same once a client sends this text, which is lost too. */
    goSilentAt: (text: string) => {
      state.silentAt = text
    },
    /** Resets a connection when the answer to a commit passes: it is committed, and the client does not know. */
    cutCommits: () => {
      state.cutsCommits = true
    },
    /** Delays the data in both directions. */
    slowDown: (ms: number) => {
      state.delayMs = ms
    },
    close: () => {
      for (const wire of wires) {
        wire.near.destroy()
        wire.far.destroy()
      }
      server.close()
    },
  }
}
