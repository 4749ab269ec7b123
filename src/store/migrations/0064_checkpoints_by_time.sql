-- The checkpoint that was signed last, and the names of the last hour. Each asked proof can sign one, and both read all of them.
create index log_checkpoints_at on log_checkpoints (at, size);
