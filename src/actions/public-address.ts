/** Which addresses the service may connect to because somebody typed them in: those of the public internet. */
import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { BlockList, isIP } from 'node:net'

const special = new BlockList()
for (const [range, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special.addSubnet(range, bits, 'ipv4')

/** In IPv6 only 2000::/3 is public, less what embeds an IPv4 address or documents things. */
const publicIpv6 = new BlockList()
publicIpv6.addSubnet('2000::', 3, 'ipv6')
for (const [range, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(range, bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !special.check(address, 'ipv4')
  return version === 6 && publicIpv6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** The addresses of a host, all of them allowed; a rejection otherwise. */
export async function resolveHost(host: string, isAllowed: (address: string) => boolean): Promise<LookupAddress[]> {
  const name = host.replace(/^\[|\]$/g, '')
  const version = isIP(name)
  const found = version === 0 ? await resolveName(name) : [{ address: name, family: version }]
  if (found.length === 0 || !found.every(({ address }) => isAllowed(address))) throw new NotPublic()
  return found
}

export class NotPublic extends Error {}

function resolveName(host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
}
