-- The views are a stable contract (store/README.md): columns may be added at the end, never renamed or removed.

CREATE VIEW nights AS
SELECT p.name AS project, m.name AS machine, n.sequence, n.started, n.attempt, r.uuid AS run, n.machine_class,
       t.commit, t.digest, t.label, nullif(t.pr, 0) AS pr, n.definition, n.state, n.reason, n.environment,
       n.open_question, n.voided, n.void_reason, n.imported
FROM night n JOIN project p USING (project_id) JOIN machine m USING (machine_id) JOIN run r USING (run_id)
LEFT JOIN target t USING (target_id);

CREATE VIEW series AS
SELECT p.name AS project, m.name AS machine, x.name AS metric, x.unit, x.better, n.sequence, n.started,
       n.machine_class, t.commit, t.digest, d.hash AS definition, g.value, v.baseline, v.change, v.verdict,
       coalesce(v.red, false) AS red, n.voided
FROM reading g JOIN night n USING (night_id) JOIN metric x USING (metric_id) JOIN definition d USING (definition_id)
JOIN project p ON p.project_id = n.project_id JOIN machine m USING (machine_id)
LEFT JOIN target t USING (target_id) LEFT JOIN verdict v USING (night_id, metric_id);

CREATE VIEW verdicts AS
SELECT p.name AS project, m.name AS machine, n.sequence, n.started, x.name AS metric, v.verdict, v.state, v.reason,
       v.value, v.baseline, v.change, v.red, v.nights_left, v.suspect_since, v.explanation
FROM verdict v JOIN night n USING (night_id) JOIN metric x USING (metric_id)
JOIN project p ON p.project_id = n.project_id JOIN machine m USING (machine_id);

CREATE VIEW trips AS
SELECT p.name AS project, m.name AS machine, g.group_id AS trip, x.name AS metric, t.kind, t.state, t.change,
       t.baseline, t.level, g.first AS first_night, g.last_good AS last_good_night, t.tripped AS tripped_night,
       n.started AS tripped_at, t.closed AS closed_night, nullif(g.bisect, 0) AS bisect, g.answer
FROM trip t JOIN trip_group g USING (group_id) JOIN metric x USING (metric_id)
JOIN project p ON p.project_id = g.project_id JOIN machine m USING (machine_id)
JOIN night n ON n.project_id = g.project_id AND n.machine_id = g.machine_id AND n.sequence = t.tripped;

CREATE VIEW bisects AS
SELECT p.name AS project, m.name AS machine, b.bisect_id AS bisect, b.metric, nullif(b.trip, 0) AS trip, b.good, b.bad,
       b.state, b.answer ->> 'outcome' AS outcome, b.answer -> 'culprit' ->> 'commit' AS culprit,
       (b.answer ->> 'probability')::double precision AS probability,
       (SELECT count(*) FROM bisect_step s WHERE s.bisect_id = b.bisect_id) AS measurements, b.started, b.ended, b.answer
FROM bisect b JOIN project p USING (project_id) JOIN machine m USING (machine_id);

CREATE VIEW conditions AS
SELECT r.uuid AS run, m.deployment, m.scenario, m.role, m.arm, m.start, t.number AS repeat, t.attempt, t.began, c.key AS name,
       c.value::double precision AS value
FROM repeat t JOIN measurement m USING (measurement_id) JOIN run r USING (run_id)
CROSS JOIN LATERAL jsonb_each_text(t.conditions) c;

CREATE VIEW samples AS
SELECT r.uuid AS run, r.kind, p.name AS project, m.deployment, m.scenario, m.role, m.arm, m.start, t.number AS repeat,
       t.attempt, x.name AS metric, s.value, t.voided, t.void_reason, t.began, g.commit, g.digest
FROM sample s JOIN repeat t USING (repeat_id) JOIN measurement m USING (measurement_id) JOIN run r USING (run_id)
JOIN metric x USING (metric_id) JOIN project p ON p.project_id = r.project_id JOIN target g USING (target_id);
