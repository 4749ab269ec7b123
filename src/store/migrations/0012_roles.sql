-- Four roles instead of two. What 'viewer' and 'admin' may do is as before.
alter table operators drop constraint operators_role_check;
alter table operators add constraint operators_role_check check (role in ('viewer', 'support', 'finance', 'admin'));
alter table operator_invites drop constraint operator_invites_role_check;
alter table operator_invites add constraint operator_invites_role_check check (role in ('viewer', 'support', 'finance', 'admin'));
