-- Why the session was revoked. Null where an older process revoked it, and in sessions that were not revoked.
alter table widget_sessions add column revoked_for text
  check (revoked_for in ('signed-out', 'signed-out-everywhere', 'password-changed'));
