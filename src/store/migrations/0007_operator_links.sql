-- One-time links for operators are listed and revoked by an id: their token is known to nobody but its receiver.
alter table operator_invites add column id uuid not null unique default gen_random_uuid();
-- Whom the link of a new operator is meant for, in the words of whoever made it.
alter table operator_invites add column for_whom text;
