/** A whole HTTP request as bytes, of which only the user, the amount and the reference change, in place. */
import type { Job } from './job.ts'

export type RequestTemplate = {
  readonly bytes: Buffer
  readonly userAt: number
  /** -1 where the call has none. */
  readonly amountAt: number
  readonly referenceAt: number
}

/** JSON allows spaces before a number, so both amounts have the same length. */
export const smallAmount = Buffer.from('     0.01')
export const hugeAmount = Buffer.from('900000.00')
const referenceDigits = 8

export function buildTemplate(job: Job, userLength: number): RequestTemplate {
  return job.call === 'debit' ? buildDebit(job, userLength) : buildCheckBalance(job, userLength)
}

function buildDebit({ target, mark }: Job, userLength: number): RequestTemplate {
  const user = '#'.repeat(userLength)
  const reference = '0'.repeat(referenceDigits)
  const body =
    `{"clientId":"${target.clientId}","clientSecret":"${target.clientSecret}","serviceUserId":"${user}",` +
    `"amount":${String(smallAmount)},"referenceType":"ORDER_PAYMENT","referenceId":"order-${mark}-${reference}","description":"One order"}`
  const text =
    `POST /api/server/wallet/debit HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const referenceAt = text.indexOf(`-${reference}"`) + 1
  return {
    bytes: Buffer.from(text),
    userAt: text.indexOf(user),
    amountAt: text.indexOf(String(smallAmount)),
    referenceAt,
  }
}

function buildCheckBalance({ target }: Job, userLength: number): RequestTemplate {
  const user = '#'.repeat(userLength)
  const query = `clientId=${target.clientId}&clientSecret=${target.clientSecret}&serviceUserId=${user}&requiredAmount=19.99`
  const text = `GET /api/server/wallet/check-balance?${query} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\n\r\n`
  return { bytes: Buffer.from(text), userAt: text.indexOf(user), amountAt: -1, referenceAt: -1 }
}

export function writeReference({ bytes, referenceAt }: RequestTemplate, reference: number): void {
  let rest = reference
  for (let at = referenceAt + referenceDigits - 1; at >= referenceAt; at--) {
    bytes[at] = 48 + (rest % 10)
    rest = (rest / 10) | 0
  }
}
