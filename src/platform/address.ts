/**
 * Parses IP addresses as proxies write them. Every spelling of one address gives one text: a new spelling must not look like a new
 * caller to the limits.
 */

/** The longest form is an IPv6 address with an embedded IPv4 address, a zone, brackets, a port and quotes. */
const maxLength = 128

/** The canonical text of an IPv4 or IPv6 address, without port, brackets and zone; undefined when it is none. */
export function parseAddress(text: string): string | undefined {
  const numbers = numbersOf(text)
  return numbers && (numbers.length === 4 ? numbers.join('.') : compressed(numbers))
}

/** One IPv6 subscriber has 2^64 addresses, so the /64 network is counted. Text that is no address counts as it is. */
export function networkOf(address: string): string {
  const numbers = numbersOf(address)
  return numbers?.length === 8 ? inHex(numbers.slice(0, 4)) : (numbers?.join('.') ?? address)
}

/** The same for people: an IPv4 address, or an IPv6 network as 2001:db8::/64. */
export function networkText(address: string): string {
  const numbers = numbersOf(address)
  return numbers?.length === 8 ? `${compressed([...numbers.slice(0, 4), 0, 0, 0, 0])}/64` : networkOf(address)
}

export type Network = { readonly address: string; readonly bits: number }

/** Where a developer's receiver runs. */
export const loopbackNetworks = '127.0.0.0/8, ::1'

/** Networks with commas between, such as `10.0.0.0/8` or `fd00::/8`; an address alone is a network of one. */
export function parseNetworks(text: string): readonly Network[] | undefined {
  const nets = text.trim() === '' ? [] : text.split(',').map((net) => parseNetwork(net.trim()))
  return nets.every((net) => net !== undefined) ? nets : undefined
}

function parseNetwork(text: string): Network | undefined {
  const [, before = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAddress(before)
  const most = address?.includes(':') ? 128 : 32
  const bits = digits === undefined ? most : Number(digits)
  return address === undefined || bits > most ? undefined : { address, bits }
}

/** Four bytes or eight groups. */
function numbersOf(text: string): number[] | undefined {
  if (text.length > maxLength) return undefined
  const bare = unwrap(text.trim())
  const v4 = /^([\d.]+)(?::\d{1,5})?$/.exec(bare)
  if (v4) return parseV4(v4[1]!)
  const groups = parseV6(/^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare)?.[1] ?? bare)
  const isMapped = groups?.[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  return isMapped ? groups.slice(6).flatMap((group) => [group >> 8, group & 255]) : groups
}

const inHex = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')

/** As RFC 5952 writes it: the first of the longest rows of zeros becomes `::`. */
function compressed(groups: readonly number[]): string {
  let [start, length] = [0, 1]
  for (let at = 0; at < groups.length; at++) {
    let zeros = 0
    while (groups[at + zeros] === 0) zeros++
    if (zeros > length) [start, length] = [at, zeros]
  }
  if (length === 1) return inHex(groups)
  return `${inHex(groups.slice(0, start))}::${inHex(groups.slice(start + length))}`
}

function unwrap(text: string): string {
  return /^"([^"]*)"$/.exec(text)?.[1]?.trim() ?? text
}

/** Zeros in front are decimal, as people write them, and never octal. */
function parseV4(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part))) return undefined
  const numbers = parts.map(Number)
  return numbers.every((number) => number <= 255) ? numbers : undefined
}

function parseV6(text: string): number[] | undefined {
  const [address = '', zone] = text.split('%', 2)
  if (zone === '' || !address.includes(':')) return undefined
  const halves = address.split('::')
  if (halves.length > 2) return undefined
  const groups = halves.map((half, index) => parseGroups(half, index === halves.length - 1))
  const [head, tail] = groups
  if (!head || groups.includes(undefined)) return undefined
  if (!tail) return head.length === 8 ? head : undefined
  const missing = 8 - head.length - tail.length
  return missing < 1 ? undefined : [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** The groups of one side of `::`; a dotted IPv4 address at the end of the whole address makes two of them. */
function parseGroups(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    const v4 = isLast && index === parts.length - 1 ? parseV4(part) : undefined
    if (v4) groups.push(v4[0]! * 256 + v4[1]!, v4[2]! * 256 + v4[3]!)
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}
