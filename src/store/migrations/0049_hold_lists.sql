-- The open holds of an app, the first to end first: its count and sum, the list of open holds, and how late the oldest expired one is.
create index holds_open_of_app on holds (client_id, expires_at, id) where closed_at is null;
-- The hold of an entry: the ledger of a wallet shows which entries are captures.
create index hold_steps_of_entry on hold_steps (wallet_id, sequence) where sequence is not null;
