-- Secrets that the service must read again are encrypted, with a key that is not in the database.

-- From now on operators.totp_secret and totp_pending hold `sealed:1:<key id>:<ciphertext>`. A migration does not know the
-- key: the first start encrypts what is still plain.

-- What is being set up ends.
alter table operators add column totp_pending_until timestamptz;
-- What was being set up has no known beginning, so it ends now.
update operators set totp_pending = null where totp_pending is not null;
