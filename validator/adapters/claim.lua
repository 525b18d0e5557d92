-- Puts each value where nothing stands yet, and tells what stood there.
-- KEYS: ids.  ARGV: seconds to live, then one value for each id.
-- Answer, for each id: nil (ours stands now), what stood there, -3 where Redis is full, or 0 where it would not write
-- for another reason. A full Redis still tells what stands.
local out = {}
for i = 1, #KEYS do
  local was = redis.pcall('SET', KEYS[i], ARGV[i + 1], 'NX', 'GET', 'EX', ARGV[1])
  if type(was) == 'table' and was.err then
    local stands = redis.pcall('GET', KEYS[i])
    if type(stands) == 'string' then
      out[i] = stands
    else
      out[i] = string.find(was.err, 'OOM', 1, true) and -3 or 0
    end
  else
    out[i] = was
  end
end
return out
