-- A process of an earlier version does not find the archived references of a cluster. No period is archived within an hour of this migration, so that no
-- such process runs any more.
comment on table archives is 'The archived periods. On a cluster, what stays of their references is on the coordinator.';
