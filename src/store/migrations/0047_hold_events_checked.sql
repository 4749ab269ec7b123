-- Their own transaction, because they read the whole tables: these locks let debits, credits and holds go on meanwhile.
alter table hold_steps validate constraint hold_steps_kind_check;
alter table journal validate constraint journal_hold_ids_check;
