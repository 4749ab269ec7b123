/**
 * A port that nobody listens on at this moment, and that nobody gets by chance: systems hand out ports above these by themselves,
 * and other tests run at the same time.
 */
export async function freePort(): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      await Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true)
      return port
    } catch (error) {
      if (tries === 50) throw error
    }
  }
}
