import { usePage } from '../page-context.tsx'

/** Turns `Firefox/Linux`, of which either part may be missing, into readable text. */
export function useBrowserName() {
  const { say } = usePage<'account'>()
  return (name: string | null): string => {
    const [browser, system] = (name ?? '').split('/')
    if (browser && system) return say('browserOn', { browser, system })
    return browser || system || say('unknownBrowser')
  }
}
