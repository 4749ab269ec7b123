-- Receipts and statements open in a window of their own, by a link that works once and ends soon: the widget's session stays in the frame.
-- A row is such a link. What it opens is in `paper`: which entry or month, in which language and time zone.
create table paper_links (
  token_hash bytea primary key check (length(token_hash) = 32),
  user_id uuid not null references users,
  paper jsonb not null,
  expires_at timestamptz not null
);
create index paper_links_expires_at on paper_links (expires_at);
