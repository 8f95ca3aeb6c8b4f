-- Runs, measurements and nights. Every table has a natural key without a nullable part; the *_id numbers only keep
-- rows small and never leave the database. All instants are UTC with microseconds.

CREATE TABLE project (
  project_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE
);

CREATE TABLE machine (
  machine_id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          text NOT NULL UNIQUE,
  machine_class text NOT NULL DEFAULT '',
  details       jsonb
);

-- What shapes a number but isn't the broker's code. The empty hash stands for "not known" (imported nights).
CREATE TABLE definition (
  definition_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash          text NOT NULL UNIQUE,
  body          text NOT NULL DEFAULT ''
);

CREATE TABLE target (
  target_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id integer NOT NULL REFERENCES project,
  commit     text NOT NULL,
  digest     text NOT NULL,
  label      text NOT NULL DEFAULT '',
  title      text NOT NULL DEFAULT '',
  author     text NOT NULL DEFAULT '',
  pr         integer NOT NULL DEFAULT 0,
  UNIQUE (project_id, commit, digest)
);

CREATE TABLE metric (
  metric_id  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id integer NOT NULL REFERENCES project,
  name       text NOT NULL,
  unit       text NOT NULL DEFAULT '',
  better     text NOT NULL CHECK (better IN ('higher', 'lower')),
  gated      boolean NOT NULL DEFAULT true,
  UNIQUE (project_id, name)
);

CREATE TABLE run (
  run_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid          uuid NOT NULL UNIQUE,
  kind          text NOT NULL CHECK (kind IN ('night', 'compare', 'bisect', 'release', 'single')),
  project_id    integer NOT NULL REFERENCES project,
  machine_id    integer NOT NULL REFERENCES machine,
  machine_class text NOT NULL DEFAULT '',
  started       timestamptz NOT NULL,
  ended         timestamptz,
  version       text NOT NULL DEFAULT '',
  settings      jsonb,
  conditions    jsonb,
  state         text NOT NULL CHECK (state IN ('running', 'done', 'failed')),
  result        jsonb
);
CREATE INDEX run_by_kind ON run (project_id, kind, started DESC);
CREATE INDEX run_by_machine ON run (project_id, machine_id);

CREATE TABLE night (
  night_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id    integer NOT NULL REFERENCES project,
  machine_id    integer NOT NULL REFERENCES machine,
  sequence      bigint NOT NULL,
  started       timestamptz NOT NULL,
  attempt       integer NOT NULL DEFAULT 1,
  run_id        bigint NOT NULL UNIQUE REFERENCES run,
  machine_class text NOT NULL DEFAULT '',
  target_id     bigint REFERENCES target,
  definition    text NOT NULL DEFAULT '',
  state         text NOT NULL CHECK (state IN ('measuring', 'measured', 'judged', 'no_verdict')),
  reason        text NOT NULL DEFAULT '',
  environment   boolean NOT NULL DEFAULT false,
  open_question boolean NOT NULL DEFAULT false,
  voided        boolean NOT NULL DEFAULT false,
  void_reason   text NOT NULL DEFAULT '',
  imported      boolean NOT NULL DEFAULT false,
  UNIQUE (project_id, machine_id, sequence)
);
CREATE INDEX night_unfinished ON night (project_id, machine_id, sequence) WHERE state IN ('measuring', 'measured');

-- Every attempt of a night; night.run_id is the newest of them.
CREATE TABLE night_attempt (
  night_id bigint NOT NULL REFERENCES night,
  attempt  integer NOT NULL,
  run_id   bigint NOT NULL UNIQUE REFERENCES run,
  PRIMARY KEY (night_id, attempt)
);

CREATE TABLE measurement (
  measurement_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id         bigint NOT NULL REFERENCES run,
  deployment     text NOT NULL,
  scenario       text NOT NULL,
  role           text NOT NULL CHECK (role IN ('target', 'control', 'arm', 'probe')),
  arm            integer NOT NULL,
  start          integer NOT NULL,
  target_id      bigint NOT NULL REFERENCES target,
  definition_id  integer NOT NULL REFERENCES definition,
  no_verdict     text NOT NULL DEFAULT '',
  log_tail       text NOT NULL DEFAULT '',
  folded         boolean NOT NULL DEFAULT false,
  UNIQUE (run_id, deployment, scenario, role, arm, start)
);

CREATE TABLE repeat (
  repeat_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  measurement_id bigint NOT NULL REFERENCES measurement,
  number         integer NOT NULL,
  attempt        integer NOT NULL,
  voided         boolean NOT NULL DEFAULT false,
  void_reason    text NOT NULL DEFAULT '',
  began          timestamptz NOT NULL,
  ended          timestamptz NOT NULL,
  conditions     jsonb,
  UNIQUE (measurement_id, number, attempt)
);

CREATE TABLE sample (
  repeat_id bigint NOT NULL REFERENCES repeat,
  metric_id integer NOT NULL REFERENCES metric,
  value     double precision NOT NULL,
  PRIMARY KEY (repeat_id, metric_id)
);

-- Median over the valid repeats of one start; stays when retention folds the samples away.
CREATE TABLE measurement_value (
  measurement_id bigint NOT NULL REFERENCES measurement,
  metric_id      integer NOT NULL REFERENCES metric,
  median         double precision NOT NULL,
  low            double precision NOT NULL,
  high           double precision NOT NULL,
  repeats        integer NOT NULL,
  PRIMARY KEY (measurement_id, metric_id)
);

-- What the judge gets for a night: a number, or why there is none.
CREATE TABLE reading (
  night_id      bigint NOT NULL REFERENCES night,
  metric_id     integer NOT NULL REFERENCES metric,
  definition_id integer NOT NULL REFERENCES definition,
  value         double precision,
  missing       text NOT NULL DEFAULT '',
  PRIMARY KEY (night_id, metric_id)
);
CREATE INDEX reading_by_metric ON reading (metric_id, night_id);

CREATE TABLE reading_control (
  night_id  bigint NOT NULL,
  metric_id integer NOT NULL,
  digest    text NOT NULL,
  value     double precision NOT NULL,
  PRIMARY KEY (night_id, metric_id, digest),
  FOREIGN KEY (night_id, metric_id) REFERENCES reading ON DELETE CASCADE
);

CREATE TABLE noise (
  project_id    integer NOT NULL REFERENCES project,
  machine_id    integer NOT NULL REFERENCES machine,
  metric_id     integer NOT NULL REFERENCES metric,
  at            timestamptz NOT NULL,
  machine_class text NOT NULL DEFAULT '',
  definition    text NOT NULL DEFAULT '',
  starts        integer NOT NULL,
  repeats       integer NOT NULL,
  within_start  double precision,
  between_starts double precision,
  drift         double precision,
  details       jsonb,
  PRIMARY KEY (project_id, machine_id, metric_id, at)
);
