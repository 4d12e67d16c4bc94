-- One embedding config is in use for all tenants: the one in embedding_in_use. A tenant that used the other one follows
-- it. While the data moves every memory has its vector for both, but for those that a store had to leave out.
DROP TABLE embedding_of_tenant;

UPDATE embedding_in_use SET epoch = epoch + 1;
