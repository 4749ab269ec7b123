/** The page's words and app, for every part of the page. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { FrameData } from '../frame-data.ts'
import { fill, type WordKey } from '../words.ts'

export const FrameContext = createContext<FrameData | null>(null)

export type Say = (key: WordKey, values?: Readonly<Record<string, string>>) => string

export function useFrame(): FrameData & { say: Say } {
  const frame = useContext(FrameContext)!
  return { ...frame, say: (key, values = {}) => fill(frame.words[key], isolate({ app: frame.appName, ...values })) }
}

/** A name written in another direction must not turn the sentence around it. */
function isolate(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, `\u2068${value}\u2069`]))
}
