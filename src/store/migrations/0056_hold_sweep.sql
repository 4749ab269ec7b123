-- Expired holds are found by the index of open holds. A wallet no longer has a piece of work for that, except after a run that failed.
delete from work where kind = 'expire-holds' and failures = 0;
-- The notices that are due. Only holds of apps with events have a time for one.
create index holds_notice on holds (notice_at) where notice_at is not null and closed_at is null;
-- How many holds of the wallet are open, for the limit on new ones. No constraint: an older process that still runs does not count.
alter table wallets add column open_holds integer not null default 0;
update wallets w set open_holds = h.open
  from (select wallet_id, count(*)::integer as open from holds where closed_at is null group by wallet_id) as h where w.id = h.wallet_id;
