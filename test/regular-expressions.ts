/** The regular expressions of a source text, and the texts that take each of them longest. */

/** Where a slash begins an expression and divides nothing: behind one of these. */
const literal =
  /(?<=(?:[=(,:!&|?[{;]|return|=>)\s*)\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)(?=[\s.,;)\]}]|$)/gm

export function findExpressions(code: string): RegExp[] {
  return [...code.matchAll(literal)].map(([, source = '', flags = '']) => new RegExp(source, flags))
}

type Atom = { readonly token: string }
type Node = Atom | { readonly choices: Node[][] }

/**
 * The expression's own words, begun and then stuck: each beginning of what it matches, then a piece of it over and over,
 * then something that fits nowhere. That is where one that goes back over its steps does so most often.
 */
export function* nastyTexts({ source, flags }: RegExp): Generator<(length: number) => string> {
  const { choices } = parse(source)
  const charactersOf = characterFinder(flags.replace(/[gy]/g, ''))
  const seen = new Set<string>()
  for (const path of pathsOf(choices)) {
    const pieces = path.map(({ token }) => charactersOf(token)).filter(([first]) => first !== undefined)
    const words = pieces.map(([first]) => first!)
    for (let at = 0; at <= Math.min(words.length, 24); at++) {
      const before = words.slice(0, at).join('')
      const pumps = [...(pieces[at - 1] ?? []), ...(pieces[at] ?? []), ...(pieces[at + 1] ?? [])]
      for (const size of [2, 3, 5]) pumps.push(words.slice(Math.max(0, at - 1), at - 1 + size).join(''))
      for (const pump of [...pumps, words.join('')]) {
        for (const start of ['', before, '!']) {
          const key = JSON.stringify([start, pump])
          if (pump === '' || seen.has(key)) continue
          seen.add(key)
          for (const end of ['\n\0', '!', '!a'])
            yield (length) => start + pump.repeat(Math.ceil(length / pump.length)) + end
        }
      }
    }
  }
}

/** Groups, alternatives and what is between them. Lookaheads and repetition counts do not matter. */
function parse(source: string): { choices: Node[][] } {
  const tokens =
    source.match(/\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u....|\\x..|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[:=!]|\{\d+,?\d*\}|./gsu) ??
    []
  let at = 0
  const readChoices = (): Node[][] => {
    const choices: Node[][] = [[]]
    for (; at < tokens.length && tokens[at] !== ')'; at++) {
      const token = tokens[at]!
      if (token === '|') choices.push([])
      else if (token.startsWith('(')) {
        at++
        const inside = readChoices()
        if (!/[=!]$/.test(token)) choices.at(-1)!.push({ choices: inside })
      } else if (!/^(?:[*+?^$]|\{\d.*|\\[bB\d])$/.test(token)) choices.at(-1)!.push({ token })
    }
    return choices
  }
  return { choices: readChoices() }
}

/** One way through for each alternative there is. */
function pathsOf(choices: Node[][]): Atom[][] {
  const paths = choices.flatMap((sequence) => {
    const inner = sequence.map((node) => ('token' in node ? [[node]] : pathsOf(node.choices)))
    const straight = inner.map(([first]) => first ?? [])
    const around = inner.flatMap((ways, i) => ways.slice(1).map((way) => straight.with(i, way).flat()))
    return [straight.flat(), ...around]
  })
  return paths.slice(0, 40)
}

const candidates = [
  'a',
  '0',
  ' ',
  '-',
  '\t',
  'E',
  '.',
  '/',
  '"',
  "'",
  '@',
  '%',
  '\n',
  'é',
  '٣',
  '\u0301',
  '€',
  '\u0000',
]

/** Up to three characters that a token matches. */
function characterFinder(flags: string): (token: string) => string[] {
  return (token) => {
    const only = new RegExp(`^(?:${token})$`, flags)
    const own = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))
    return [...new Set([...candidates, ...own])].filter((character) => only.test(character)).slice(0, 3)
  }
}
