/** Writes the batches of a fast lane on the nodes of a cluster: the coordinator, or another node that coordinates them. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  commit,
  isContention,
  isUnavailable,
  sqlState,
  uniqueViolation,
  type Connection,
} from '../connection/database.ts'
import { within, type OpenClient } from '../connection/open-client.ts'
import { hasEvents } from '../events/journal.ts'
import { openWriterClient, type WriterClient } from '../writer/connection.ts'
import type { BatchWriter, Limits } from '../writer/fast-lane.ts'
import { isCapture } from '../writer/fast-captures.ts'
import { postFast, type FastAnswers } from '../writer/fast-statement.ts'
import type { PendingPosting } from '../writer/posting.ts'
import { resolveLinks } from '../writer/resolve-links.ts'
import type { ClosedReferences } from '../closing/closed-references.ts'
import { findArchivedReferences } from './archived-references.ts'
import { beginBatch, beginIdle, beginOnOtherNode, roundTrip } from './batch.ts'
import type { Outage } from './outage.ts'
import { isCoordinator, openNode, readIdentity, refuseForeignNode } from './nodes.ts'

/** The node that a lane prefers as coordinator of its batches, and the one in use after faults of others. */
export type NodeChoice = { readonly own: number; index: number }

/** Lanes use the nodes round robin from a random start, so that processes spread over the nodes. */
export function chooseNodes(lanes: number): NodeChoice[] {
  const first = Math.floor(Math.random() * 1_000)
  return Array.from({ length: lanes }, (_, i) => ({ own: first + i, index: first + i }))
}

/** The cost is per batch and hardly per posting, so the next batch is everything that arrived meanwhile. */
const limits: Limits = { batch: 2_048, underWay: 1 }

type Lane = {
  readonly connection: Connection
  readonly node: NodeChoice
  readonly outage: Outage
  readonly closed: ClosedReferences
  readonly lockTimeoutMs: number
  /** A connection in use was lost. */
  readonly onLost: () => void
  /** The chosen node cannot coordinate batches. */
  readonly onNodeFault: (error: unknown) => void
}

/** The coordinator and, once connected, another node that coordinates the batches in place of it. */
type Nodes = { readonly home: WriterClient; otherNode: WriterClient | undefined }

/** `home` is the lane's connection to the coordinator. */
export async function writeOnNodes(home: WriterClient, lane: Lane): Promise<BatchWriter> {
  const nodes: Nodes = { home, otherNode: undefined }
  const clients = () => [home.client, ...(nodes.otherNode ? [nodes.otherNode.client] : [])]
  void moveToOtherNode(lane, nodes, await readIdentity(home.client))
  // Only the coordinator has the journal. Serials of different nodes would not compare.
  const writerOf = (batch: readonly PendingPosting[]) => (hasEvents(batch) ? home : (nodes.otherNode ?? home))
  return {
    limits,
    writerOf,
    post: async (batch) => {
      if (batch.every(isCapture)) return undecided
      try {
        await lane.outage.keepReachable(home.client, batch)
        // The statement of a batch asks every node. Those of the careful lane ask only the nodes that they need.
        return lane.outage.isOn() ? undecided : await postOnNodes(writerOf(batch), home.client, lane.closed, batch)
      } catch (error) {
        // The careful lane, which tries its postings again, must know what it cannot reach.
        if (isUnavailable(error)) await lane.outage.examine(writerOf(batch).client)
        throw error
      }
    },
    // A lost race for a reference or a locked row is no fault of the node itself, such as losing sight of the others.
    isFaulty: (error) => nodes.otherNode !== undefined && !isContention(error) && sqlState(error) !== uniqueViolation,
    end: async () => void (await Promise.all(clients().map((client) => client.end()))),
    destroy: () => {
      // Try the next node.
      if (nodes.otherNode) lane.node.index++
      for (const client of clients()) client.destroy()
    },
  }
}

/** Captures: here the careful lane makes them all, because their statement needs the hold and the outcome on one node. */
const undecided: FastAnswers = { answers: [], hasWritten: true, hasStandby: false, hasRepeats: false }

/**
 * Settings reach the nodes only with a transaction. The coordinator reads the links and the archived references, in a transaction that stays
 * open until the batch is committed, whichever node writes it. The careful lane answers the archived references.
 */
async function postOnNodes(
  { client, number }: WriterClient,
  home: OpenClient,
  closed: ClosedReferences,
  all: readonly PendingPosting[],
): Promise<FastAnswers> {
  const isOtherNode = client !== home
  try {
    const [, allLinks, archived] = await roundTrip([
      isOtherNode ? beginIdle(home) : beginBatch(home),
      resolveLinks(home, all),
      findArchivedReferences(
        home,
        closed,
        all.map(({ referenceKey }) => referenceKey),
      ),
    ])
    const isPosted = ({ referenceKey }: PendingPosting) => !archived.has(referenceKey)
    const batch = all.filter(isPosted)
    if (batch.length === 0) return undecided
    const links = allLinks.filter((_, i) => isPosted(all[i]!))
    const [, answers] = await roundTrip([
      isOtherNode && beginOnOtherNode(client),
      postFast(client, batch, number, { links }),
      commit(client),
    ])
    return answers
  } finally {
    // An open transaction here only read: when `home` wrote the batch, its transaction has ended.
    if (home.isInTransaction()) await home.query('rollback').catch(() => {})
  }
}

const retryNodeAfterMs = 30_000
const identifyWithinMs = 2_500

/** Runs in the background; the coordinator writes the batches until another node is connected. */
async function moveToOtherNode(lane: Lane, nodes: Nodes, identity: string): Promise<void> {
  const { connection, node, lockTimeoutMs } = lane
  // A connection lost before its first use needs no action.
  const onLost = (lost: OpenClient | undefined) => {
    if (lost && lost === nodes.otherNode?.client) lane.onLost()
  }
  while (!nodes.home.client.isLost()) {
    if (isCoordinator(connection, node.index)) {
      if (node.index === node.own) return
      // Faults of other nodes moved the lane here; those nodes may have recovered.
      await sleep(retryNodeAfterMs, undefined, { ref: false })
      if (!nodes.home.client.isLost()) node.index = node.own
      continue
    }
    let otherNode: WriterClient | undefined
    try {
      const { index } = node
      otherNode = await openWriterClient(connection, lockTimeoutMs, onLost, (named, options) =>
        openNode(named, index, options),
      )
      await within(otherNode.client, identifyWithinMs, refuseForeignNode(otherNode.client, identity))
      nodes.otherNode = otherNode
      if (nodes.home.client.isLost()) otherNode.client.destroy()
      return
    } catch (error) {
      otherNode?.client.destroy()
      lane.onNodeFault(error)
      node.index++
      await sleep(retryNodeAfterMs, undefined, { ref: false })
    }
  }
}
