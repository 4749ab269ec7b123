/** The setting DATABASE_URL: one address, which may name several hosts. */

/** Splits an address with several hosts into one address per host, with the same user, database and options. */
export function serversOf(text: string): string[] {
  const [, before = '', hosts, after = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? []
  return hosts === undefined ? [text] : hosts.split(',').map((host) => `${before}${host}${after}`)
}

/** Any password: in the address it would have to be percent-encoded. */
export function withPassword(address: string, password: string | undefined): string {
  if (password === undefined) return address
  const url = new URL(address)
  url.password = encodeURIComponent(password)
  return url.href
}

export function isServer(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)
}
