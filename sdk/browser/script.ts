/** The build for a `<script>` tag: `window.Billfold`, and `<billfold-wallet>` ready to use. */
import { defineWalletElement } from './element.ts'
import { mountWallet } from './mount.ts'
import { WalletError } from './wallet-error.ts'

const Billfold = { mountWallet, defineWalletElement, WalletError }

declare global {
  interface Window {
    Billfold: typeof Billfold
  }
}

// A server that renders pages may import this file too.
if (typeof window !== 'undefined') window.Billfold = Billfold
defineWalletElement()
