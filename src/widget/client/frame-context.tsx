/** The page's words and app, for every part of the page. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { FrameData } from '../frame-data.ts'
import { fill, isolate, type WordKey } from '../words.ts'

export const FrameContext = createContext<FrameData | null>(null)

export type Say = (key: WordKey, values?: Readonly<Record<string, string>>) => string

export function useFrame(): FrameData & { say: Say } {
  const frame = useContext(FrameContext)!
  const { words, lang, appName } = frame
  const say: Say = (key, values = {}) => {
    const named = Object.entries({ app: appName, ...values })
    return fill(words[key], Object.fromEntries(named.map(([name, value]) => [name, isolate(value, lang)])))
  }
  return { ...frame, say }
}
