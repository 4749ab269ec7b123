/** The words of what is not in the ledger yet, in English: the keys of every language are these. */
export const words = {
  waitingEntry: 'Top-up pending',
  failedEntry: 'Top-up not completed',
  failedDeclined: 'The card was declined. No money moved.',
  failedAuthentication: 'The bank could not confirm it was you. No money moved.',
  failedUnconfirmed: 'Your bank got no confirmation. No money moved.',
  failedCancelled: 'It was cancelled. No money moved.',
  failedOther: 'The bank did not complete it. No money moved.',

  holdEntry: 'Payment on hold',
  holdUntil: 'Until {when}',
  holdsText: 'Apps have set this money aside for payments. What they do not take in time is yours to spend again.',
  holdTaken: '{taken} of {amount} already paid',
  holdsNone: 'Nothing is on hold.',
  holdsAll: 'Show everything on hold',
  holdsMore: 'Older ones are not shown.',
  wholeBalance: 'Balance',
}
