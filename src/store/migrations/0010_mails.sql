-- Mails that tell users what happened, each at most once; which of them a user wants; and whose first payment is yet to be told.

-- A row is a fact that is told, written where the fact is decided; its key lets nobody tell the same fact twice.
create table mails (
  fact text collate "C" primary key,
  user_id uuid not null references users,
  kind text not null,
  detail jsonb not null,
  -- Null: to the user's own address, as it is when the mail is sent.
  email text,
  -- Of the page on which it happened; null when it happened on none.
  language text,
  created_at timestamptz not null default now(),
  -- When it is tried next; null once somebody has taken it to the mail server.
  due_at timestamptz default now(),
  tries integer not null default 0
);
create index mails_due_at on mails (due_at) where due_at is not null;
create index mails_created_at on mails (created_at);
create index mails_user_id on mails (user_id);

-- Absent: everything is wanted, and no page's language is known.
create table mail_settings (
  user_id uuid primary key references users,
  stopped text[] not null default '{}' check (stopped <@ array['receipts', 'payments', 'sign-ins']),
  -- Of the page on which the user signed in last, for one who has chosen none.
  language text check (language ~ '^[a-z]{2,3}$')
);

-- Links whose first payment nobody has told yet: a table of its own, because debits read links. Entries of the wallet up to
-- looked_to have been looked at.
create table new_links (
  link_id text collate "C" primary key references links,
  user_id uuid not null references users,
  client_id text collate "C" not null references apps,
  connected_at timestamptz not null default now(),
  looked_to bigint not null,
  look_at timestamptz not null
);
create index new_links_look_at on new_links (look_at);
