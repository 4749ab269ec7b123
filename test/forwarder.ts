/** A wire to PostgreSQL that can be cut, refused, made slow or silent, or cut just after a commit. */
import { createConnection, createServer, type Socket } from 'node:net'
import type { Connection } from '../src/store/connection/open-client.ts'

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

type Wire = { readonly near: Socket; readonly far: Socket; isDead: boolean }

export async function openForwarder(given: Connection) {
  const target = partsOf(given)
  const { host = '127.0.0.1', port: farPort = 5432 } = target
  const wires = new Set<Wire>()
  const state = { isCut: false, isSilent: false, delayMs: 0, cutsCommits: false }

  const open = (near: Socket) => {
    if (state.isCut) {
      near.resetAndDestroy()
      return
    }
    const far = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${farPort}`) : createConnection(farPort, host)
    const wire: Wire = { near, far, isDead: state.isSilent }
    wires.add(wire)
    forward(wire, near, far, () => false)
    forward(wire, far, near, (chunk) => state.cutsCommits && chunk.includes('COMMIT\0'))
  }

  /** A dead wire takes bytes and drops them, and does not report the end of one side to the other. */
  const forward = (wire: Wire, from: Socket, to: Socket, isTheEnd: (chunk: Buffer) => boolean) => {
    let sent = Promise.resolve()
    let delayed = 0
    from.on('data', (chunk: Buffer) => {
      if (wire.isDead) return
      if (isTheEnd(chunk)) return cut(wire)
      const { delayMs } = state
      if (delayMs === 0 && delayed === 0) return void to.write(chunk)
      // Nothing overtakes what is on its way, also when the wire is quick again: a network never mixes up a stream.
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

  const server = createServer(open).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const connection: Connection = { ...target, host: '127.0.0.1', port, ssl: false }
  return {
    connection,
    url: `postgres://${target.user}:${String(target.password ?? '')}@127.0.0.1:${port}/${target.database}`,
    /** How many connections are open through it, dead ones left out. */
    count: () => [...wires].filter((wire) => !wire.isDead).length,
    /** Connections are reset, and new ones refused. */
    cut: () => {
      state.isCut = true
      for (const wire of wires) cut(wire)
    },
    mend: () => {
      Object.assign(state, { isCut: false, isSilent: false, delayMs: 0, cutsCommits: false })
    },
    /** Drops the connections that are open now without closing them: nothing more passes. New ones work. */
    silence: () => {
      for (const wire of wires) wire.isDead = true
    },
    /** The same, also for new ones, until it is mended; those that were forgotten stay so. */
    goSilent: () => {
      state.isSilent = true
      for (const wire of wires) wire.isDead = true
    },
    /** Connections are reset when the answer to a commit is on its way: it is done, and the client cannot know. */
    cutCommits: () => {
      state.cutsCommits = true
    },
    /** Everything takes so much longer, in both directions. */
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
