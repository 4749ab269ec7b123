/** All commands, in the order the help shows them. */
import { adminCommands } from './admin.ts'
import { appSecretCommands } from './app-secrets.ts'
import { appCommands } from './apps.ts'
import { booksCommands } from './books.ts'
import type { Command } from './command.ts'
import { conformCommands } from './conform.ts'
import { copyCommands } from './copy.ts'
import { correctionCommands } from './corrections.ts'
import { distributeCommands } from './distribute.ts'
import { doctorCommands } from './doctor.ts'
import { keysCommands } from './keys.ts'
import { migrateCommands } from './migrate.ts'
import { reconcileCommands } from './reconcile.ts'
import { seedCommands } from './seed.ts'
import { settlementCommands } from './settlements.ts'
import { userCommands } from './user.ts'
import { walletCommands } from './wallet.ts'

export const commands: readonly Command[] = [
  ...appCommands,
  ...appSecretCommands,
  ...settlementCommands,
  ...userCommands,
  ...walletCommands,
  ...correctionCommands,
  ...adminCommands,
  ...doctorCommands,
  ...conformCommands,
  ...migrateCommands,
  ...distributeCommands,
  ...booksCommands,
  ...reconcileCommands,
  ...copyCommands,
  ...keysCommands,
  ...seedCommands,
]
