import type { CardProcessor } from '../../src/cards/processor.ts'

/** The actions of the payer, the bank and the network that a test controls. */
export type Bench = {
  readonly processor: CardProcessor
  pay(id: string): Promise<void>
  decline(id: string): Promise<void>
  requireAction(id: string): Promise<void>
  process(id: string): Promise<void>
  settle(id: string): Promise<void>
  dispute(id: string): Promise<void>
  closeDispute(id: string, state: 'won' | 'lost'): Promise<void>
  /** Oldest first. */
  webhookBodies(id: string): Promise<string[]>
  sign(body: string, options: { at: Date; secret?: string }): Headers
  takeDown(): Promise<void>
  close(): Promise<void>
}
