-- A month of boardings of a whole city, made by the database itself: {holders} holders with {rides} rides each, and
-- {cash} rides paid in money. All online, released as answered, covered by signed heads; instants follow the hours of
-- real demand. Numbers in braces are put in by loadtests/bench/month.py.
INSERT INTO users (id, login, name, role, token_sha256, valid_from, recorded_at)
  VALUES (1, 'balcao', 'balcao', 'CITY', 'balcao', '2025-01-01', '2025-01-01'), (2, 'gestor', 'gestor', 'CITY', 'gestor', '2025-01-01', '2025-01-01');
INSERT INTO acts (id, kind, number, signed_on, recorded_at) VALUES (1, 'DECREE', '9001', '2023-10-10', '2025-01-01');
INSERT INTO operators (id, code, name, kind, document, recorded_at)
  VALUES (1, 'alfa', 'Operadora Alfa', 'COMPANY', '12ABC34501DE35', '2025-01-01'), (2, 'beta', 'Operadora Beta', 'COMPANY', NULL, '2025-01-01');
INSERT INTO lines (id, code, name, network, recorded_at)
  SELECT n, (100 + n)::text, 'Linha ' || (100 + n), 'URBAN', '2025-01-01' FROM generate_series(1, 32) n;
INSERT INTO line_operators (line_id, operator_id, from_day, runs, recorded_at)
  SELECT n, 1 + (n - 1) % 2, '2020-01-01', true, '2025-01-01' FROM generate_series(1, 32) n;
INSERT INTO vehicles (number, recorded_at) SELECT (1000 + n)::text, '2025-01-01' FROM generate_series(0, 399) n;
INSERT INTO vehicle_operators (vehicle, operator_id, from_day, recorded_at)
  SELECT (1000 + n)::text, 1 + n % 2, '2020-01-01', '2025-01-01' FROM generate_series(0, 399) n;
INSERT INTO devices (id, operator_id, revision, published_revision, recorded_at)
  SELECT 'val-' || lpad(n::text, 4, '0'), 1 + n % 2, 1, 1, '2025-01-01' FROM generate_series(0, 399) n;
INSERT INTO fares (id, network, first_day, cents, act_id, recorded_at)
  VALUES (1, 'URBAN', '2023-10-16', 450, 1, '2025-01-01'), (2, 'INTERIOR', '2023-10-16', 700, 1, '2025-01-01');
INSERT INTO schools (id, name, network, recorded_at) VALUES (1, 'Escola', 'PUBLIC_STATE', '2025-01-01');

CREATE UNLOGGED TABLE bench_shares (category text, ride_class text, effects bytea);
{shares}

{holders_sql}
-- One row for each ride: n numbers them; rides of a holder lie on different days or hours, so none is a passback.
CREATE UNLOGGED TABLE bench_rides AS
  SELECT r.n, r.holder, s.category, s.ride_class, s.effects, COALESCE(p.shard, r.n % 64) AS shard,
         timestamptz '2026-03-01 00:00-03' + (r.ride % 31) * interval '1 day'
           + ({hours})[1 + (r.n::bigint * 7919 % 1000)] * interval '1 hour' + (r.n % 3599) * interval '1 second' AS at
  FROM (SELECT (h - 1) * {rides} + k AS n, h AS holder, k AS ride,
               {category_of_h} AS category
        FROM generate_series(1, {holders}) h CROSS JOIN generate_series(1, {rides}) k
        UNION ALL
        SELECT {holders} * {rides} + c, NULL, c, 'FULL' FROM generate_series(1, {cash}) c) r
  JOIN bench_shares s ON s.category = r.category LEFT JOIN bench_homes p ON p.holder = r.holder;

INSERT INTO boardings (month, device, epoch, seq, kind, boarding_id, digest, received_at, batch, occurred_at, dated_at,
    line, vehicle, medium, tendered_cents, holder, card_number, card_issue, revision, city_revision, reason, category,
    fare_cents, rider_cents, city_cents, operator_cents, change_cents, turnstile, effects, flags, shard, generation,
    commit_no)
  SELECT '2026-03', 'val-' || lpad((n % 400)::text, 4, '0'), 1, 2 * n, 'BOARDING', md5('b' || n)::uuid, '\x01', at,
         false, at, at, (101 + (n % 400) % 32)::text, (1000 + n % 400)::text,
         CASE WHEN holder IS NULL THEN 'cash' ELSE 'card' END, CASE WHEN holder IS NULL THEN 500 END,
         CASE WHEN holder IS NOT NULL THEN substr(md5('h' || holder), 1, 16) END,
         10000000 + holder, CASE WHEN holder IS NOT NULL THEN 1 END, CASE WHEN holder IS NOT NULL THEN 1 END, 1, 'OK',
         category, 450, 0, 0, 0, 0, 'TURN', effects, 0, shard, 1, n
  FROM bench_rides;
INSERT INTO releases (device, epoch, seq, boarding_id, digest, received_at, released, ride_class, online, holder, flags,
    shard, generation, commit_no)
  SELECT 'val-' || lpad((n % 400)::text, 4, '0'), 1, 2 * n + 1, md5('b' || n)::uuid, '\x01', at, true, ride_class, true,
         CASE WHEN holder IS NOT NULL THEN substr(md5('h' || holder), 1, 16) END, 0, shard, 1, n
  FROM bench_rides;
INSERT INTO signed_heads (device, epoch, seq, head, signature, closing, received_at, verdict)
  SELECT id, 1, 2 * ({holders} * {rides} + {cash}) + 1, '\x01', '\x01', false, '2026-03-31 23:00-03', 'VALID' FROM devices;
INSERT INTO shards (number, generation, commit_no, stream_id)
  SELECT n, 1, {holders} * {rides} + {cash}, '0-0' FROM generate_series(0, 63) n;
DROP TABLE bench_rides, bench_shares, bench_homes;
