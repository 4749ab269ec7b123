/** A whole HTTP request as bytes, in which only the user, the amount and the reference are overwritten. */
import { bulkSize, type Job } from './job.ts'

export type RequestTemplate = {
  readonly bytes: Buffer
  /** The offsets of the changing parts, for each operation of the request. */
  readonly offsets: readonly Offsets[]
}

export type Offsets = {
  readonly userAt: number
  /** -1 if the call has none. */
  readonly amountAt: number
  readonly referenceAt: number
}

/** JSON allows spaces before a number, so both amounts have the same length. */
export const smallAmount = Buffer.from('     0.01')
export const hugeAmount = Buffer.from('900000.00')
const referenceDigits = 8

export function buildTemplate(job: Job, userLength: number): RequestTemplate {
  if (job.call === 'check-balance') return buildCheckBalance(job, userLength)
  if (job.call === 'capture') return buildCapture(job, userLength)
  return job.call === 'bulk' ? buildBulk(job, userLength) : buildOne(job, userLength)
}

/** A hold has the fields of a debit. */
function buildOne(job: Job, userLength: number): RequestTemplate {
  return toPost(job, job.call, `{${credentials(job)},${operation(job, userLength)}}`, 1)
}

function buildCapture(job: Job, idLength: number): RequestTemplate {
  const text = postText(job, 'hold/capture', `{${credentials(job)},"holdId":"${'#'.repeat(idLength)}"}`)
  return { bytes: Buffer.from(text), offsets: [{ userAt: text.indexOf('"#') + 1, amountAt: -1, referenceAt: -1 }] }
}

function buildBulk(job: Job, userLength: number): RequestTemplate {
  const one = `{"direction":"debit",${operation(job, userLength)}}`
  const body = `{${credentials(job)},"operations":[${Array<string>(bulkSize).fill(one).join()}]}`
  return toPost(job, 'bulk', body, bulkSize)
}

function credentials({ target }: Job): string {
  return `"clientId":"${target.clientId}","clientSecret":"${target.clientSecret}"`
}

function operation({ mark }: Job, userLength: number): string {
  const reference = '0'.repeat(referenceDigits)
  return (
    `"serviceUserId":"${'#'.repeat(userLength)}","amount":${String(smallAmount)},"referenceType":"ORDER_PAYMENT",` +
    `"referenceId":"order-${mark}-${reference}","description":"One order"`
  )
}

function postText({ target }: Job, path: string, body: string): string {
  return (
    `POST /api/server/wallet/${path} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

function toPost(job: Job, path: string, body: string, size: number): RequestTemplate {
  const text = postText(job, path, body)
  const offsets: Offsets[] = []
  for (let at = 0; offsets.length < size; at = offsets.at(-1)!.referenceAt) {
    const userAt = text.indexOf('"#', at) + 1
    const amountAt = text.indexOf(String(smallAmount), userAt)
    offsets.push({ userAt, amountAt, referenceAt: text.indexOf(`-${'0'.repeat(referenceDigits)}"`, amountAt) + 1 })
  }
  return { bytes: Buffer.from(text), offsets }
}

function buildCheckBalance({ target }: Job, userLength: number): RequestTemplate {
  const user = '#'.repeat(userLength)
  const query = `clientId=${target.clientId}&clientSecret=${target.clientSecret}&serviceUserId=${user}&requiredAmount=19.99`
  const text = `GET /api/server/wallet/check-balance?${query} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n\r\n`
  return { bytes: Buffer.from(text), offsets: [{ userAt: text.indexOf(user), amountAt: -1, referenceAt: -1 }] }
}

export function writeReference(bytes: Buffer, { referenceAt }: Offsets, reference: number): void {
  let rest = reference
  for (let at = referenceAt + referenceDigits - 1; at >= referenceAt; at--) {
    bytes[at] = 48 + (rest % 10)
    rest = (rest / 10) | 0
  }
}
