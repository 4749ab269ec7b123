-- Entries and outcomes never change. When the server has counted a change of one all the same, the round over everything begins
-- anew and hurries.
alter table books_check
  -- Of rows of transfers and outcomes, as the server had counted them when the last look took note.
  add column rewrites bigint,
  add column is_hurried boolean not null default false;
