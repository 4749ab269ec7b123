/** Just enough of HTTP/1.1 to find the end of an answer and its meaning: the load must cost little beside the service. */

const blankLine = Buffer.from('\r\n\r\n')
const replayedField = Buffer.from('"replayed":true')
const busyField = Buffer.from('"status":503')
const refusedStatuses = [429, 503]
const doneField = Buffer.from('"status":200')

/** Set by the first answer: servers spell the header differently, but each always spells it the same. */
let lengthHeader: Buffer | undefined

/** The length of the first answer in these bytes, or 0 if it is not complete. */
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

/** Reads the status of `HTTP/1.1 200 OK`. */
export function statusOf(bytes: Buffer): number {
  return (bytes[9]! - 48) * 100 + (bytes[10]! - 48) * 10 + (bytes[11]! - 48)
}

export function isReplay(bytes: Buffer): boolean {
  return bytes.includes(replayedField)
}

/** The number of operations of a bulk answer that succeeded. */
export function countDone(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(doneField); at !== -1; at = bytes.indexOf(doneField, at + 1)) count++
  return count
}

/** Whether the request, or an operation of it, has to be repeated. */
export function isBusy(bytes: Buffer): boolean {
  return refusedStatuses.includes(statusOf(bytes)) || bytes.includes(busyField)
}
