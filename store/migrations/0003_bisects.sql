-- Bisects with every step, the ledger, and what is still to be told to the world.

CREATE TABLE bisect (
  bisect_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id     bigint NOT NULL UNIQUE REFERENCES run,
  project_id integer NOT NULL REFERENCES project,
  machine_id integer NOT NULL REFERENCES machine,
  metric     text NOT NULL,
  trip       bigint NOT NULL DEFAULT 0,  -- trip_group, or 0: asked for by a person
  good       text NOT NULL,
  bad        text NOT NULL,
  problem    jsonb,
  state      text NOT NULL CHECK (state IN ('running', 'finished', 'abandoned')),
  answer     jsonb,
  started    timestamptz NOT NULL,
  ended      timestamptz
);
CREATE INDEX bisect_by_project ON bisect (project_id, bisect_id DESC);

CREATE TABLE bisect_step (
  bisect_id bigint NOT NULL REFERENCES bisect,
  block     integer NOT NULL,
  slot      integer NOT NULL,
  position  integer NOT NULL,
  point     integer NOT NULL,
  phase     text NOT NULL,
  candidate integer NOT NULL,
  log_value double precision,
  value     double precision,
  commit    text NOT NULL DEFAULT '',
  digest    text NOT NULL DEFAULT '',
  failure   text NOT NULL DEFAULT '',
  machine   text NOT NULL DEFAULT '',
  run_id    bigint NOT NULL REFERENCES run,
  at        timestamptz NOT NULL,
  PRIMARY KEY (bisect_id, block, slot, position)
);

CREATE TABLE ledger (
  entry_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id    integer NOT NULL REFERENCES project,
  run           text NOT NULL,  -- a run's uuid, or empty: tried elsewhere, or never run
  label         text NOT NULL,
  note          text NOT NULL DEFAULT '',
  at            timestamptz NOT NULL,
  base          text NOT NULL DEFAULT '',
  head          text NOT NULL DEFAULT '',
  result        jsonb,
  verdict       text NOT NULL,
  why           text NOT NULL DEFAULT '',
  superseded_by text NOT NULL DEFAULT '',
  UNIQUE (project_id, run, label)
);

CREATE TABLE ledger_change (
  entry_id      bigint NOT NULL REFERENCES ledger,
  at            timestamptz NOT NULL,
  verdict       text NOT NULL,
  why           text NOT NULL DEFAULT '',
  superseded_by text NOT NULL DEFAULT '',
  who           text NOT NULL DEFAULT '',
  PRIMARY KEY (entry_id, at)
);

CREATE TABLE notification (
  project_id integer NOT NULL REFERENCES project,
  kind       text NOT NULL,
  key        text NOT NULL,
  body       jsonb NOT NULL,
  state      text NOT NULL CHECK (state IN ('pending', 'sent', 'dropped')),
  tries      integer NOT NULL DEFAULT 0,
  created    timestamptz NOT NULL,
  not_before timestamptz,
  last_error text NOT NULL DEFAULT '',
  result     jsonb,
  PRIMARY KEY (project_id, kind, key)
);
CREATE INDEX notification_pending ON notification (project_id, created) WHERE state = 'pending';
