-- A secret whose key is lost is removed (`keys rotate --drop-lost`). Its endpoint is disabled until it gets a new one.
alter table endpoints alter column secret drop not null;
alter table endpoints add constraint endpoints_enabled_has_secret check (secret is not null or disabled_at is not null);
alter table endpoints drop constraint endpoints_disabled_for_check;
alter table endpoints add constraint endpoints_disabled_for_check check (disabled_for in ('operator', 'gone', 'failing', 'secret-lost'));
