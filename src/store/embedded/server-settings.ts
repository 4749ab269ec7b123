import { totalmem } from 'node:os'

const mebibyte = 1024 * 1024

/** The memory, in bytes, that the machine or container allows this process. */
export function usableMemory(): number {
  const limit = process.constrainedMemory?.() ?? 0
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/**
 * The server's settings, written at every start. fsync and similar ones are PostgreSQL's defaults, repeated here because the
 * service promises durability. Checkpoints are few and spread out, because the first change of a page after a checkpoint writes
 * the whole page to the write-ahead log, and debits are many small changes.
 */
export function serverSettings(memoryBytes: number): string {
  const sharedBuffers = clamp(memoryBytes / 8, 32, 4096)
  const settings = {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    max_connections: '200',
    shared_buffers: `${sharedBuffers}MB`,
    effective_cache_size: `${clamp(memoryBytes / 2, 128, 65_536)}MB`,
    maintenance_work_mem: `${clamp(memoryBytes / 64, 16, 256)}MB`,
    max_wal_size: '4GB',
    checkpoint_timeout: '15min',
    // These binaries can compress only with pglz: to compress one page takes more processor time than the debit that changes it.
    wal_compression: 'off',
    random_page_cost: '1.1',
    jit: 'off',
    timezone: 'UTC',
    lc_messages: 'C',
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgres-%Y%m%dT%H%M%S.log',
    log_file_mode: '0600',
    log_rotation_size: '10MB',
    log_rotation_age: '1d',
    log_timezone: 'UTC',
    // The message, the details and the statement of an error may contain what people wrote. The service receives every such error
    // as an answer; the server's log is for errors of the server itself.
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'`)
  return `# Written by billfold at every start. Put changes into postgresql.conf, which is read after this.\n${lines.join('\n')}\n`
}

function clamp(bytes: number, least: number, most: number): number {
  return Math.round(Math.min(most, Math.max(least, bytes / mebibyte)))
}
