-- An account that is its user's own: its language, a change of its email, where it is signed in, and its end.

-- Null: never chosen.
alter table users add column language text check (language ~ '^[a-z]{2,3}$');

-- The row of a deleted user stays, because the books refer to it, without anything that tells who it was.
alter table users add column deleted_at timestamptz;
alter table users alter column email drop not null;
alter table users add constraint users_deleted_is_nobody check (
  case when deleted_at is null then email is not null
  else num_nonnulls(email, password_hash, language) = 0 and first_name = '' and last_name = '' end);

-- The wallet of a deleted user is closed for good. A charge-back may still put it in debt, and its return take that debt
-- away, but whatever the code does it never holds money again.
alter table wallets drop constraint wallets_frozen_for_check;
alter table wallets add constraint wallets_frozen_for_check check (frozen_for in ('operator', 'debt', 'closed'));
alter table wallets add constraint wallets_closed_is_empty check (frozen_for is distinct from 'closed' or balance <= 0);

-- When the user last proved who they are in the app's widget; null where that was before this column. While signed_out_at is
-- set the app can open no session: the user has to sign in again. Its debits and credits go on.
alter table links add column signed_in_at timestamptz;
alter table links add column signed_out_at timestamptz;

-- The browser that used the session, in two words, and the hash of its network; null until it has.
alter table widget_sessions add column browser text;
alter table widget_sessions add column address_hash bytea check (length(address_hash) = 32);
create index widget_sessions_user_id on widget_sessions (user_id, expires_at);

-- The newest change of a user's email that waits for its two codes: one mailed to the address there is, one to the new one.
create table email_changes (
  user_id uuid primary key references users,
  id uuid not null,
  email text not null,
  old_code_hash text not null,
  new_code_hash text not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index email_changes_expires_at on email_changes (expires_at);
