-- The tables of both peers: a holder's counts in one row that is locked, and one row for each boarding.
CREATE TABLE holders (
  holder_id text PRIMARY KEY,
  category text NOT NULL,
  passes integer NOT NULL CHECK (passes >= 0),
  month_boardings integer NOT NULL DEFAULT 0
);
CREATE TABLE boardings (
  boarding_id uuid PRIMARY KEY,
  holder_id text REFERENCES holders,
  device_seq bigint NOT NULL,
  occurred_at timestamptz NOT NULL,
  line text NOT NULL,
  vehicle text NOT NULL,
  outcome text NOT NULL,
  rider_cents integer NOT NULL,
  city_cents integer NOT NULL
);
CREATE FUNCTION board(
  tap uuid, seq bigint, at timestamptz, tap_line text, tap_vehicle text, who text
) RETURNS TABLE (outcome text, rider_cents integer, city_cents integer, passes integer) LANGUAGE plpgsql AS $$
DECLARE
  held holders%ROWTYPE;
  rider integer := 450;
  city integer := 0;
  said text := 'accepted';
  pass_used integer := 0;
BEGIN
  RETURN QUERY SELECT b.outcome, b.rider_cents, b.city_cents, 0 FROM boardings b WHERE b.boarding_id = tap;
  IF FOUND THEN RETURN; END IF;
  IF who IS NOT NULL THEN
    SELECT * INTO held FROM holders h WHERE h.holder_id = who FOR UPDATE;
    IF held.category IN ('ELDER', 'FISCAL_TRANSP') THEN rider := 0;
    ELSIF held.category = 'SPECIAL_ED' THEN rider := 0; city := 450;
    ELSIF held.passes = 0 THEN said := 'refused'; rider := 0;
    ELSIF held.category = 'STUDENT_50' AND held.month_boardings >= 50 THEN said := 'refused'; rider := 0;
    ELSE
      pass_used := 1;
      IF held.category = 'STUDENT_50' THEN rider := 225; city := 225; END IF;
      UPDATE holders h SET passes = h.passes - 1, month_boardings = h.month_boardings + 1 WHERE h.holder_id = who;
    END IF;
  END IF;
  INSERT INTO boardings VALUES (tap, who, seq, at, tap_line, tap_vehicle, said, rider, city);
  RETURN QUERY SELECT said, rider, city, coalesce(held.passes - pass_used, 0);
END $$;
