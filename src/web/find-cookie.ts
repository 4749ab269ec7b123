/** Reads a cookie. Two cookies with one name mean that one was planted, and the server cannot know which: both are ignored. */
export function findCookie(request: Request, name: string): string | undefined {
  const found = (request.headers.get('cookie') ?? '').split(';').map((part) => part.trim().split('='))
  const values = found.filter(([key]) => key === name).map(([, value]) => value ?? '')
  return values.length === 1 ? values[0] : undefined
}
