-- Mailed codes by the handle that the asking browser holds. In mailed_codes an email has one code, so that each request replaced
-- the code of another browser, and wrong codes from anywhere ended it. Processes of the previous release still use mailed_codes.

create table code_handles (
  handle_hash bytea primary key,
  email text not null,
  purpose text not null check (purpose in ('confirm', 'reset')),
  code_hash text not null,
  tries integer not null default 0,
  expires_at timestamptz not null
);
create index code_handles_email on code_handles (email, purpose);
create index code_handles_expires_at on code_handles (expires_at);
