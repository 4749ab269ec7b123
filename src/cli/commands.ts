/** All commands, in the order of the help. Each file loads its part of the service, and only when it is needed. */
import type { Command } from './command.ts'

/** For each file: the first words of its commands' names, and its commands. */
const files: readonly (readonly [firstWords: string, load: () => Promise<readonly Command[]>])[] = [
  ['app', async () => (await import('./apps.ts')).appCommands],
  ['app', async () => (await import('./app-secrets.ts')).appSecretCommands],
  ['app', async () => (await import('./settlements.ts')).settlementCommands],
  ['endpoint', async () => (await import('./app-endpoints.ts')).endpointCommands],
  ['events', async () => (await import('./app-events.ts')).eventCommands],
  ['listen', async () => (await import('./listen.ts')).listenCommands],
  ['user', async () => (await import('./user.ts')).userCommands],
  ['user', async () => (await import('./user-requests.ts')).userRequestCommands],
  ['wallet', async () => (await import('./wallet.ts')).walletCommands],
  ['wallet correction', async () => (await import('./corrections.ts')).correctionCommands],
  ['hold', async () => (await import('./holds.ts')).holdCommands],
  ['admin', async () => (await import('./admin.ts')).adminCommands],
  ['doctor', async () => (await import('./doctor.ts')).doctorCommands],
  ['conform', async () => (await import('./conform.ts')).conformCommands],
  ['migrate', async () => (await import('./database/migrate.ts')).migrateCommands],
  ['period', async () => (await import('./database/periods.ts')).periodCommands],
  ['archive', async () => (await import('./database/archives.ts')).archiveCommands],
  ['distribute', async () => (await import('./database/distribute.ts')).distributeCommands],
  ['verify', async () => (await import('./books.ts')).booksCommands],
  ['verify-receipt log', async () => (await import('./proofs/receipts.ts')).receiptCommands],
  ['reconcile', async () => (await import('./reconcile.ts')).reconcileCommands],
  ['export import', async () => (await import('./copy.ts')).copyCommands],
  ['keys', async () => (await import('./keys.ts')).keysCommands],
  ['seed', async () => (await import('./seed.ts')).seedCommands],
]

/** Loads at least the commands that begin with the word; all commands if none does, for the help and for suggestions. */
export async function loadCommands(firstWord?: string): Promise<readonly Command[]> {
  const found = files.filter(([firstWords]) => firstWords.split(' ').some((word) => word === firstWord))
  const loaded = await Promise.all((found.length > 0 ? found : files).map(([, load]) => load()))
  return loaded.flat()
}
