/** The script of /widget/wallet. The top-up page has its own, so that the wallet, which everyone opens, stays small. */
import { hydrate } from 'preact'
import { start } from './start.ts'
import { WalletApp } from './wallet-app.tsx'

const { page, root, token, parent } = start()
hydrate(<WalletApp page={page} here={{ token, parent }} />, root)
