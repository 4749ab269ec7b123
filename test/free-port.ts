/**
 * Ports that are free now, and that no other process gets by chance: the system assigns ports above these, and the tests that run
 * at the same time do not get them for a while.
 */
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = join(tmpdir(), `billfold-ports-${process.getuid?.() ?? 0}`)
const givenForMs = 10 * 60_000

/** The first of `count` consecutive ports. */
export async function freePort(count = 1): Promise<number> {
  mkdirSync(folder, { recursive: true })
  for (let tries = 1; tries <= 200; tries++) {
    const first = 20_000 + Math.floor(Math.random() * 12_000)
    const ports = Array.from({ length: count }, (_, i) => first + i)
    if (ports.every(take) && (await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
  throw new Error('there is no free port')
}

/** One file for each port in use: of two processes that create it at once, only one succeeds. */
function take(port: number): boolean {
  const file = join(folder, String(port))
  try {
    const givenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
    if (givenAt < Date.now() - givenForMs) rmSync(file, { force: true })
    closeSync(openSync(file, 'wx'))
    return true
  } catch {
    return false
  }
}

async function isFree(port: number): Promise<boolean> {
  try {
    await Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true)
    return true
  } catch {
    return false
  }
}
