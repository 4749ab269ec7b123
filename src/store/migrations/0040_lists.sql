-- The order of each list that operators filter, sort and export: by time, and by amount without its sign.
create index corrections_amount on corrections (abs(amount), id);
create index settlements_made_at on settlements (made_at, id);
create index settlements_amount on settlements (abs(amount), id);
create index settlements_app on settlements (client_id, made_at, id);
create index settlements_reference on settlements (reference);
create index notes_written_at on notes (written_at, id);
drop index notes_user_id;
create index notes_user_id on notes (user_id, written_at, id);
create index operator_changes_asked_at on operator_changes (asked_at, id);
create index operator_invites_created_at on operator_invites (created_at, id);
create index operator_grants_at on operator_grants (at, operator_id, kind);
create index reconciliation_differences_day on reconciliation_differences (day, payment_intent_id, kind);
create index reconciliation_differences_amount on reconciliation_differences (abs(processor_amount - ledger_amount), payment_intent_id, kind);
create index report_contradictions_day on report_contradictions (day, id);
create index user_deletions_asked_at on user_deletions (asked_at, id);
