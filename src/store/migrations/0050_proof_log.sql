-- Provable books: a tree of hashes over each wallet's entries, and one log in which the state of every tree is a leaf. No row of the
-- ledger is touched, and a debit writes none of these tables.

-- The tree of a wallet: its size, the roots of its complete subtrees, and its newest leaf in the log. The salt makes hashes of guessable
-- texts unguessable; a proof shows only what is derived from it for one entry.
create table wallet_heads (
  wallet_id uuid primary key,
  salt bytea not null constraint wallet_heads_salt_check check (octet_length(salt) = 32),
  size bigint not null constraint wallet_heads_size_check check (size > 0),
  peaks bytea not null constraint wallet_heads_peaks_check check (octet_length(peaks) = 32 * bit_count(int8send(size))),
  leaf bigint not null
);

-- The complete subtrees with 256, 65,536 … entries. Smaller ones are computed from the entries.
create table wallet_subtrees (
  wallet_id uuid not null,
  level smallint not null,
  number bigint not null,
  hash bytea not null constraint wallet_subtrees_hash_check check (octet_length(hash) = 32),
  primary key (wallet_id, level, number)
);

-- The first six bytes of each leaf, in rows of 256: they prove nothing, and name the entry that is not what was sealed.
create table wallet_marks (
  wallet_id uuid not null,
  number bigint not null,
  marks bytea not null constraint wallet_marks_marks_check check (octet_length(marks) >= 6 and octet_length(marks) <= 1536 and octet_length(marks) % 6 = 0),
  primary key (wallet_id, number)
);

-- `subject` is the wallet, or the id of the audit record; `size` is that of the wallet's tree.
create table log_leaves (
  number bigint primary key,
  size bigint,
  subject uuid,
  kind text not null constraint log_leaves_kind_check check (kind in ('wallet', 'audit', 'books')),
  hash bytea not null constraint log_leaves_hash_check check (octet_length(hash) = 32)
);
create unique index log_leaves_audit on log_leaves (subject) where kind = 'audit';
create index log_leaves_wallet on log_leaves (subject) where kind = 'wallet';
create trigger log_leaves_append_only before update or delete on log_leaves
  for each row execute function refuse_change();
create trigger log_leaves_never_emptied before truncate on log_leaves
  for each statement execute function refuse_change();

create table log_subtrees (
  level smallint not null,
  number bigint not null,
  hash bytea not null constraint log_subtrees_hash_check check (octet_length(hash) = 32),
  primary key (level, number)
);

-- The books at the end of a day: the sum of all wallets, and the accounts that moved. `marks` are the first six bytes of the leaf of
-- each account, and name the one that is not what was sealed.
create table log_days (
  day date primary key,
  leaf bigint not null,
  salt bytea not null constraint log_days_salt_check check (octet_length(salt) = 32),
  wallets numeric not null,
  accounts text[] collate "C" not null,
  marks bytea not null constraint log_days_marks_check check (octet_length(marks) = 6 * cardinality(accounts))
);
create unique index log_days_leaf on log_days (leaf);
create trigger log_days_append_only before update or delete on log_days
  for each row execute function refuse_change();
create trigger log_days_never_emptied before truncate on log_days
  for each statement execute function refuse_change();

-- Signed states of the log, as they were published.
create table log_checkpoints (
  origin text collate "C" not null,
  size bigint not null,
  note text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (origin, size)
);
create trigger log_checkpoints_append_only before update or delete on log_checkpoints
  for each row execute function refuse_change();
create trigger log_checkpoints_never_emptied before truncate on log_checkpoints
  for each statement execute function refuse_change();

-- One row: the log's tree, its key, and the pass over the wallets. `id` is the incarnation: a restored copy of the database gets another.
-- Without a key the log goes on under another id.
create table log_state (
  id text collate "C" primary key,
  is_only boolean not null default true unique constraint log_state_is_only_check check (is_only),
  key text,
  size bigint not null default 0,
  peaks bytea not null default '',
  pass_from uuid,
  pass_started_at timestamptz,
  next_pass_at timestamptz not null default now(),
  -- Every entry that was checked before this time is in the log.
  sealed_up_to timestamptz,
  -- Every audit record before this time is in the log.
  audit_up_to timestamptz,
  constraint log_state_peaks_check check (octet_length(peaks) = 32 * bit_count(int8send(size)))
);
revoke update, delete, truncate on log_leaves, log_days, log_checkpoints from public, current_user;
