-- Events of holds. An event shows the hold as it was then, made from values that are written once.
alter table holds
  -- When the hold expired before its first extension; null when it was never extended.
  add column initial_expires_at timestamptz,
  -- When hold.expiring is due; null when none is, or when it was given.
  add column notice_at timestamptz;

-- The hold after the step, as apps see it. Null only for steps of earlier versions, which had no events.
alter table hold_steps
  add column captured bigint,
  add column remaining bigint,
  add column expires_at timestamptz;
-- NOT VALID, so that the locks are short; the next migration checks the rows that are there.
alter table hold_steps drop constraint hold_steps_kind_check;
alter table hold_steps add constraint hold_steps_kind_check check (kind in ('capture', 'void', 'expiry', 'extend', 'expiring')) not valid;

-- One for each event; null for a movement. The event is then a step of that hold, and its sequence the number of the step: 0 when the
-- hold was made. A row without holds has no array.
alter table journal add column hold_ids uuid[];
alter table journal add constraint journal_hold_ids_check
  check (hold_ids is null or (fact is null and cardinality(hold_ids) = cardinality(link_ids))) not valid;
