-- An import asks of every id whether its removal from the index is still under way, in whatever scope.
CREATE INDEX outbox_deletes ON outbox (id) WHERE operation = 'delete';
