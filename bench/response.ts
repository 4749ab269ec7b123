/** Just enough of HTTP/1.1 to know where an answer ends and what it says: the load must cost little beside the service. */

const blankLine = Buffer.from('\r\n\r\n')
const replayedField = Buffer.from('"replayed":true')
const busyField = Buffer.from('"status":503')
const doneField = Buffer.from('"status":200')

/** Set by the first answer: servers differ in how they write the header, but each writes it always the same. */
let lengthHeader: Buffer | undefined

/** The length of the first answer in these bytes, or 0 when it is not all there yet. */
export function answerLength(bytes: Buffer): number {
  const headEnd = bytes.indexOf(blankLine)
  if (headEnd === -1) return 0
  lengthHeader ??= findLengthHeader(bytes.toString('latin1', 0, headEnd))
  const lengthAt = bytes.indexOf(lengthHeader)
  if (lengthAt === -1 || lengthAt > headEnd) {
    lengthHeader = undefined
    return answerLength(bytes)
  }
  let length = 0
  for (let at = lengthAt + lengthHeader.length; bytes[at] !== 13; at++) length = length * 10 + (bytes[at]! - 48)
  const end = headEnd + 4 + length
  return bytes.length >= end ? end : 0
}

function findLengthHeader(head: string): Buffer {
  const found = /content-length: */i.exec(head)
  if (!found) throw new Error(`an answer without Content-Length:\n${head}`)
  return Buffer.from(found[0], 'latin1')
}

/** Of `HTTP/1.1 200 OK`. */
export function statusOf(bytes: Buffer): number {
  return (bytes[9]! - 48) * 100 + (bytes[10]! - 48) * 10 + (bytes[11]! - 48)
}

export function isReplay(bytes: Buffer): boolean {
  return bytes.includes(replayedField)
}

/** How many operations of an answer to many were done. */
export function countDone(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(doneField); at !== -1; at = bytes.indexOf(doneField, at + 1)) count++
  return count
}

/** That it, or an operation of it, is to be sent again. */
export function isBusy(bytes: Buffer): boolean {
  return statusOf(bytes) === 503 || bytes.includes(busyField)
}
