/** The script of /widget/wallet. The top-up page has its own, so that the wallet, which everyone opens, stays small. */
import { hydrate } from 'preact'
import { start } from './start.ts'
import { WalletApp } from './wallet-app.tsx'

const { frame, root, token, parent } = start()
hydrate(<WalletApp frame={frame} here={{ token, parent }} />, root)
