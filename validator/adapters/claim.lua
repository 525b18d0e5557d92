-- Puts each value where nothing stands yet, and tells what stood there.
-- KEYS: ids.  ARGV: seconds to live, then one value for each id.
-- Answer, for each id: nil (ours stands now), what stood there, or 0 where Redis would not write.
local out = {}
for i = 1, #KEYS do
  local was = redis.pcall('SET', KEYS[i], ARGV[i + 1], 'NX', 'GET', 'EX', ARGV[1])
  if type(was) == 'table' and was.err then
    out[i] = 0
  else
    out[i] = was
  end
end
return out
