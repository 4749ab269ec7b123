-- The states of one wallet in the order of the log: a busy wallet has thousands, and each page of them read and sorted all.
create index log_leaves_states on log_leaves (subject, number) where kind = 'wallet';
drop index log_leaves_wallet;
-- The few leaves that are neither states nor audit records are found without reading the log.
create index log_leaves_few on log_leaves (number) where kind in ('books', 'incarnation');
