/**
 * Socket options of Linux that the runtime does not offer. Closing a listener resets the connections in its queue, so the queue
 * must be empty first. On other systems, and without a C library, nothing happens: a close may then cost the few
 * connections that are being opened.
 */
import { readdirSync, readlinkSync } from 'node:fs'

/** One instruction of the kernel's classic packet filter: operation, jump if true, jump if false, operand. */
type Instruction = readonly [operation: number, ifTrue: number, ifFalse: number, operand: number]

const levelSocket = 1
const attachFilter = 26
const acceptsConnections = 30
const attachReuseportProgram = 51

const answerWith = (value: number): Instruction => [0x06, 0, 0, value]

/** The kernel's extensions begin at -4096; 56 is a random number. */
const loadRandom: Instruction = [0x20, 0, 0, 0xffff_f000 + 56]
const modulo = (divisor: number): Instruction => [0x94, 0, 0, divisor]
const answerLoaded: Instruction = [0x16, 0, 0, 0]

/** Byte 13 of the TCP header has the flags. Drops packets with SYN and without ACK, which ask for a new connection. */
const dropFirstPackets: readonly Instruction[] = [
  [0x30, 0, 0, 13],
  [0x54, 0, 0, 0x12],
  [0x15, 0, 1, 0x02],
  answerWith(0),
  answerWith(0xffff_ffff),
]

/**
 * Directs every new connection to the newest of the `listeners` on the port: the kernel numbers sockets in the order in which
 * they began to listen. When that socket is closed, the kernel distributes as usual.
 */
export async function steerToNewest(port: number, listeners: number): Promise<boolean> {
  return await tryAttach(port, attachReuseportProgram, [answerWith(listeners - 1)])
}

/**
 * Distributes new connections over the first `listeners` on the port, so that one that begins to listen later gets none until one
 * of the first is closed: the kernel moves the last socket into the place of a closed one.
 */
export async function steerToFirst(port: number, listeners: number): Promise<boolean> {
  return await tryAttach(port, attachReuseportProgram, [loadRandom, modulo(listeners), answerLoaded])
}

/** Lets the kernel distribute new connections again: a number that no socket has leaves the choice to it. */
export async function stopSteering(port: number): Promise<boolean> {
  return await tryAttach(port, attachReuseportProgram, [answerWith(0xffff_ffff)])
}

/**
 * Keeps new connections out of the queue. A client repeats its SYN after a second, and then reaches another process or a
 * closed port. Queued and open connections continue.
 */
export async function holdNewConnections(port: number): Promise<boolean> {
  return await tryAttach(port, attachFilter, dropFirstPackets)
}

/** False where a call is forbidden: the process continues without it. */
async function tryAttach(port: number, option: number, program: readonly Instruction[]): Promise<boolean> {
  return await attach(port, option, program).catch(() => false)
}

async function attach(port: number, option: number, program: readonly Instruction[]): Promise<boolean> {
  const library = await openLibrary()
  if (!library) return false
  const { symbols, ptr } = library
  const instructions = new DataView(new ArrayBuffer(program.length * 8))
  for (const [index, [operation, ifTrue, ifFalse, operand]] of program.entries()) {
    instructions.setUint16(index * 8, operation, true)
    instructions.setUint8(index * 8 + 2, ifTrue)
    instructions.setUint8(index * 8 + 3, ifFalse)
    instructions.setUint32(index * 8 + 4, operand, true)
  }
  const header = new BigUint64Array([BigInt(program.length), BigInt(ptr(instructions))])
  const results = findListeners(library, port).map((fd) => symbols.setsockopt(fd, levelSocket, option, ptr(header), 16))
  return results.length > 0 && results.every((result) => result === 0)
}

type Library = NonNullable<Awaited<ReturnType<typeof openLibrary>>>

async function openLibrary() {
  if (process.platform !== 'linux') return undefined
  const { dlopen, ptr } = await import('bun:ffi')
  for (const name of ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]) {
    try {
      const { symbols } = dlopen(name, {
        getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
        getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
        setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
      })
      return { symbols, ptr }
    } catch {
      // Try the other C library.
    }
  }
  return undefined
}

/** The runtime does not expose a server's file descriptor, so all open ones are searched. */
function findListeners({ symbols, ptr }: Library, port: number): number[] {
  const isListener = (fd: number) => {
    const [value, length] = [new Int32Array(1), new Uint32Array([4])]
    const [address, addressLength] = [new DataView(new ArrayBuffer(128)), new Uint32Array([128])]
    return (
      symbols.getsockopt(fd, levelSocket, acceptsConnections, ptr(value), ptr(length)) === 0 &&
      value[0] === 1 &&
      symbols.getsockname(fd, ptr(address), ptr(addressLength)) === 0 &&
      address.getUint16(2) === port
    )
  }
  return readdirSync('/proc/self/fd')
    .filter((name) => isSocket(`/proc/self/fd/${name}`))
    .map(Number)
    .filter(isListener)
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:')
  } catch {
    // The descriptor that read the folder is closed by now.
    return false
  }
}
