-- Verdicts with the numbers that caused them, the gate's memory after each night, trips, and what people decided.

CREATE TABLE verdict (
  night_id      bigint NOT NULL REFERENCES night,
  metric_id     integer NOT NULL REFERENCES metric,
  verdict       text NOT NULL,
  state         text NOT NULL DEFAULT '',
  reason        text NOT NULL DEFAULT '',
  value         double precision,
  baseline      double precision,
  change        double precision,
  red           boolean NOT NULL DEFAULT false,
  nights_left   integer NOT NULL DEFAULT 0,
  suspect_since bigint,
  explanation   jsonb,
  PRIMARY KEY (night_id, metric_id)
);

-- The newest 40 nights of a machine and every 30th older one.
CREATE TABLE gate_snapshot (
  night_id bigint PRIMARY KEY REFERENCES night,
  body     text NOT NULL
);

CREATE TABLE trip_group (
  group_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id integer NOT NULL REFERENCES project,
  machine_id integer NOT NULL REFERENCES machine,
  first      bigint NOT NULL,
  last_good  bigint NOT NULL,
  tripped    bigint NOT NULL,
  bisect     bigint NOT NULL DEFAULT 0,
  answer     jsonb,
  UNIQUE (project_id, machine_id, first),
  FOREIGN KEY (project_id, machine_id, first) REFERENCES night (project_id, machine_id, sequence),
  FOREIGN KEY (project_id, machine_id, tripped) REFERENCES night (project_id, machine_id, sequence)
);

CREATE TABLE trip (
  group_id  bigint NOT NULL REFERENCES trip_group,
  metric_id integer NOT NULL REFERENCES metric,
  position  integer NOT NULL,
  kind      text NOT NULL,
  change    double precision,
  baseline  double precision,
  level     double precision,
  tripped   bigint NOT NULL,
  state     text NOT NULL CHECK (state IN ('open', 'recovered', 'accepted', 'withdrawn')),
  closed    bigint,
  PRIMARY KEY (group_id, metric_id)
);
CREATE INDEX trip_open ON trip (metric_id, group_id) WHERE state = 'open';

CREATE TABLE decision (
  decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id  integer NOT NULL REFERENCES project,
  machine     text NOT NULL,  -- empty: every machine
  kind        text NOT NULL CHECK (kind IN ('accept', 'void_night', 'alias', 'pin', 'undo')),
  metric      text NOT NULL,
  night       bigint NOT NULL,
  at          timestamptz NOT NULL,
  detail      text NOT NULL DEFAULT '',
  reason      text NOT NULL DEFAULT '',
  who         text NOT NULL DEFAULT '',
  undone      boolean NOT NULL DEFAULT false,
  UNIQUE (project_id, machine, kind, metric, night, at)
);
-- Which trips an accept closed, so that undo opens the same ones again.
CREATE TABLE decision_trip (
  decision_id bigint NOT NULL REFERENCES decision,
  group_id    bigint NOT NULL,
  metric_id   integer NOT NULL,
  PRIMARY KEY (decision_id, group_id, metric_id),
  FOREIGN KEY (group_id, metric_id) REFERENCES trip
);
