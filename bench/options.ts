import { parseArgs } from 'node:util'

export type Options = {
  readonly isQuick: boolean
  readonly isLarge: boolean
  readonly cycles: number
  readonly roundSeconds: number
  readonly memorySeconds: number
  readonly connections: number
}

export const usage = `npm run bench [-- flags]

  --quick          a first impression in about two minutes; the committed chart stays as it is
  --large          also a database of 1 million wallets and 10 million transfers (takes some minutes and 6 GB of disk)
  --long           five minutes of load for the memory figure, instead of 30 seconds
  --connections N  connections of the load; 128 by default
  --help           this

npm run bench -- --growth [--users 1000000] [--transfers 10] [--cycles 7] [--keep]

  debits on a ledger of that many wallets and transfers each, over a year, against an almost empty one; its start, verify, pages and
  sizes. The load shows its progress, and resumes when it is stopped and started again; --keep leaves the data there

npm run bench -- latency [--seconds 4] [--cycles 3]

  the time of an answer: by connections, at half of the highest rate, beside a checkpoint, verify and export, and under overload

npm run bench -- limits [--seconds 4] [--cycles 3] [--connections 128,1024]

  what 1, 2, 4 and 8 processes on one database wait for, and the effect of each setting of the server

npm run bench -- faults [--minutes 2] [--seed N] [--clients 48] [--pause ms] [--greedy 12] [--only words] [--failover] [--rewrite]

  random faults of all kinds on two services and their database, under load and beside an app that sends so many bulk requests of 1,000
  at once; then the exact count. With TEST_DATABASE_URL on a new database there, on all nodes if that is a cluster

npm run bench -- tenants [--seconds 20] [--streams 5000] [--only words] [--beside checkout]

  one app does too much of one thing beside another app: failures and p99 of the other app, and what the greedy app got done

npm run bench -- events [--seconds 2] [--cycles 7] [--users 20000] [--rate 200] [--dead 100] [--before checkout]

  debits with events on against off, and off against a checkout from before events; events a second from the feed and to an endpoint;
  how soon an event arrives, alone and beside dead endpoints

npm run bench -- holds [--seconds 2] [--cycles 7] [--users 30000] [--expiring 100000] [--before checkout]

  debits against a checkout from before holds, and on wallets with a hold against without; holds and captures against debits; so many
  holds that expire in one second, and debits meanwhile

npm run bench -- nodes --database URL [--users 20000] [--connections 128,2000] [--seconds 8]

  debits on a test database, on one server or a cluster, and the processor time of each node per debit

npm run bench -- cluster-life --bin DIR [--user postgres]

  starts a cluster with the programs in DIR, a PostgreSQL with Citus, and rehearses its life: two workers, four, a kill -9, a migration, three

npm run bench -- books [--users 100000] [--transfers 9] [--unanalysed]

  how soon the continuous check finds a wrong row in books of that size, and what it costs

npm run bench -- mutants [texts]

  breaks one guard at a time in a copy of the tree and runs the tests nearest to it, which must fail; with texts, only the guards
  of files or lines that contain one of them`

export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      large: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      connections: { type: 'string', default: '128' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const isQuick = values.quick
  return {
    isQuick,
    isLarge: values.large,
    cycles: isQuick ? 3 : 7,
    roundSeconds: isQuick ? 1 : 2,
    memorySeconds: values.long ? 300 : isQuick ? 10 : 30,
    connections: Number(values.connections),
  }
}
