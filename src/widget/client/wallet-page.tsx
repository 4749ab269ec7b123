/** The script of /widget/wallet. The top-up page has its own, so that the wallet page stays small. */
import { start } from './start.ts'
import { WalletApp } from './wallet-app.tsx'

start((page, here) => <WalletApp page={page} here={here} />)
