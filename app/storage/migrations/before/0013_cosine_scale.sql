-- Where the cosines of an embedding config lie, measured with pairs of sentences when it was first used
-- (app/indexing/cosine_scales.py). probes: which sentences, and with which prefix; with others it is measured again.
CREATE TABLE cosine_scale (
  index_name TEXT NOT NULL,
  probes TEXT NOT NULL,
  unrelated REAL NOT NULL,
  spread REAL NOT NULL,
  related REAL NOT NULL,
  PRIMARY KEY (index_name, probes)
) STRICT, WITHOUT ROWID;
