-- Holders {first} to {last} as desks register them: rights, enrolments, and two lots of 50 passes in each purse.
INSERT INTO holders (id, hot_id, revision, published_revision, created_at)
  SELECT n, substr(md5('h' || n), 1, 16), 1, 1, '2025-01-01' FROM generate_series({first}, {last}) n;
INSERT INTO lives (holder_id, birth_date, recorded_at, revision)
  SELECT n, '1950-05-04', '2025-01-01', 1 FROM generate_series({first}, {last}) n WHERE {category} = 'ELDER';
INSERT INTO right_requests (id, holder_id, category, first_day, registered_by, recorded_at)
  SELECT n, n, {category}, '2025-01-01', 1, '2025-01-01' FROM generate_series({first}, {last}) n
  WHERE {category} IN ('STUDENT_50', 'SPECIAL_ED', 'FISCAL_TRANSP');
INSERT INTO rights (id, holder_id, request_id, category, first_day, registered_by, approved_by, recorded_at, revision)
  SELECT id, holder_id, id, category, first_day, 1, 2, recorded_at, 1 FROM right_requests WHERE id BETWEEN {first} AND {last};
INSERT INTO enrolments (id, holder_id, school_id, first_day, last_day, passes_per_day, recorded_by, recorded_at)
  SELECT n, n, 1, '2025-02-01', '2026-12-20', 2, 1, '2025-01-01' FROM generate_series({first}, {last}) n
  WHERE {category} = 'STUDENT_50';
INSERT INTO sales (holder_id, product, network, units, face_cents, paid_cents, enrolment_id, fare_id, sold_on,
                   recorded_at, desk, sold_by, revision)
  SELECT n, CASE {category} WHEN 'STUDENT_50' THEN 'STUDENT' ELSE {category} END, 'URBAN', 50, 450,
         CASE {category} WHEN 'STUDENT_50' THEN 225 ELSE 450 END,
         CASE {category} WHEN 'STUDENT_50' THEN n END, 1, '2025-12-01', '2025-12-01 12:00-03', 'centro', 1, 1
  FROM generate_series({first}, {last}) n CROSS JOIN generate_series(1, 2) lot
  WHERE {category} IN ('STUDENT_50', 'VT', 'PREPAID');
