/** A database that a start or a command could not reach: the address, and what to check first. */
import { sqlState } from './database-unavailable.ts'

export class DatabaseUnreachable extends Error {
  override name = 'DatabaseUnreachable'
}

/** By the message of the system, the driver or PostgreSQL; the first match counts. */
const hints: readonly (readonly [said: RegExp, check: string])[] = [
  [/takes writes|old primary/, 'which server is the primary: docs/operations/high-availability.md#two-primaries'],
  [/ECONNREFUSED|ENOENT/, 'that PostgreSQL runs there, and that host and port are right'],
  [/ENOTFOUND|EAI_AGAIN/, 'that the name of the host is right, and known to this machine'],
  [/EHOSTUNREACH|ENETUNREACH|no answer within/, 'that a network or firewall lets this machine reach it'],
  [
    /^28P01/,
    'user and password; in the address @ : / # are written as %40 %3A %2F %23, in DATABASE_PASSWORD as they are',
  ],
  [/^28/, 'that the role exists, and that pg_hba.conf lets it come from this machine'],
  [/^3D000/, 'the name of the database, or make it: create database … owner …'],
  [/^53300/, 'max_connections of the server, and who has them: pg_stat_activity'],
  [/^57P03/, 'the log of the server: it is starting, stopping or recovering'],
  [/SSL|TLS|certificate/i, 'sslmode in the address, and the certificate of the server'],
  [/takes no writes/, 'that one of the servers is a primary'],
]

/** For errors of the connection, not of a statement. */
export function asUnreachable(error: unknown, addresses: readonly string[]): DatabaseUnreachable {
  const said = error instanceof Error ? error.message : String(error)
  const told = `${sqlState(error) ?? ''} ${said}`.trim()
  const check = hints.find(([pattern]) => pattern.test(told))?.[1] ?? 'the address, and the log of the server'
  const where = addresses.map(withoutPassword).join(' or ')
  return new DatabaseUnreachable(`DATABASE_URL leads to ${where}, and there: ${said}. Check ${check}.`, {
    cause: error,
  })
}

/** Without the password, which only the operator may know. */
function withoutPassword(address: string): string {
  const url = new URL(address)
  url.password = ''
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  return url.href
}
