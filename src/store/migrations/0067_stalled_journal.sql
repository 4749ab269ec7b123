-- Rows of the journal of an app that has a row which cannot become events. They wait for that row, so that the app's numbers have no gap;
-- the cursors pass them, so that no other app waits.
create table stalled_journal (
  client_id text collate "C" not null,
  serial bigint not null,
  writer integer not null,
  primary key (client_id, serial, writer)
);
