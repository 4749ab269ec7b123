/** Names this version and the runtime, so that the log of a proxy or a service shows which clients are old. */

/** As in package.json, which a test compares. */
const version = '0.1.0'

type Runtime = { versions?: { bun?: string; node?: string } }

export const userAgent = `billfold-sdk/${version}${runtimeName((globalThis as { process?: Runtime }).process)}`

function runtimeName(runtime: Runtime | undefined): string {
  const { bun, node } = runtime?.versions ?? {}
  if (bun) return ` bun/${bun}`
  return node ? ` node/${node}` : ''
}
