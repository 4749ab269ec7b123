/** Root may mount, install packages and give files away, but neither PostgreSQL nor Chromium's sandbox starts as root. */
export const isRoot = process.getuid?.() === 0
