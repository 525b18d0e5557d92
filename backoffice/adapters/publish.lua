-- Write one record of the publisher, unless a newer one stands.
--
-- KEYS[1] the record: byte 1 is the version, bytes 2 to 9 are the revision, big-endian
-- KEYS[2] the holder's usage, for a holder only
-- ARGV[1] the new record
-- ARGV[2] an empty usage, for the first publication of a holder only; it never replaces one that stands
--
-- Answers 1 when the record was written, 0 when a newer one stands.
if KEYS[2] and ARGV[2] and ARGV[2] ~= '' then
  redis.call('SET', KEYS[2], ARGV[2], 'NX')
end
local held = redis.call('GETRANGE', KEYS[1], 1, 8)
for i = 1, #held do
  local old, new = string.byte(held, i), string.byte(ARGV[1], i + 1)
  if old > new then
    return 0
  elseif old < new then
    break
  end
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
