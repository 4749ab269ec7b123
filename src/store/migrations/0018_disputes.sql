-- Disputes that wait for their end: few at any time, and the overview counts them.
create index topups_disputed on topups (created_at) where dispute = 'open';
