-- A difference that a person has looked into and settled by hand: it stays as it is, and is no longer open. When either side
-- comes to say something else, it is open again.
alter table reconciliation_differences
  add column settled_at timestamptz,
  -- An actor, as in the audit log.
  add column settled_by text,
  add column settled_reason text,
  add constraint reconciliation_differences_settled check (num_nulls(settled_at, settled_by, settled_reason) in (0, 3));
