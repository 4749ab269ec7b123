/** `@billfold/sdk/browser`: the wallet in your page. */
export { defineWalletElement } from './browser/element.ts'
export type { BillfoldWalletElement } from './browser/element.ts'
export { mountWallet } from './browser/mount.ts'
export type { MountOptions, WalletHandle, WalletLink, WalletSession } from './browser/mount.ts'
export type { TopUpOutcome, TopUpRequest } from './browser/topup.ts'
export { WalletError } from './browser/wallet-error.ts'
export type { WalletErrorCode } from './browser/wallet-error.ts'
