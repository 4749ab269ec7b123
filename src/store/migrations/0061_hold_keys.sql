-- The key of a hold has its state, so the open holds of a wallet are found by the key, and a new hold is written into two indexes instead of
-- four. False also in holds that an older process closes, so readers of open holds ask for `closed_at is null` too.
alter table holds add column is_closed boolean not null default false;
alter table holds drop constraint holds_pkey;
drop index holds_open;
drop index holds_of_app;
update holds set is_closed = true where closed_at is not null;
alter table holds add constraint holds_pkey primary key (wallet_id, is_closed, id);
alter table holds add constraint holds_closed_has_a_time check (closed_at is not null or not is_closed);
-- The closed holds of an app on a wallet, newest first. Written when a hold is closed; the open ones are few.
create index holds_closed_of_app on holds (wallet_id, client_id, created_at, id) where closed_at is not null;
