-- Writes what was decided, item by item, where nothing moved since it was read. It knows no law, no cap, no amount.
-- KEYS: for each shard generation, fence, commit_no, journal; then for each item seen, usage (the journal's key where
--       an item has none: it is not read or written then).
-- ARGV: number of shards, seconds to live; for each shard the generation that was read and the highest commit_no known;
--       for each item its shard, usage read, usage new, seen read, seen new, journal entry. Empty means: none.
-- Answer, for each item: its commit_no; 0 when something moved; -1 when the shard is fenced, another generation, or has
--       lost commits; -3 when Redis is full; -2 when it would not write for another reason; or the bytes of `seen` that were
--       already there. Then, for each shard, its generation.
local shards = tonumber(ARGV[1])
local seconds = ARGV[2]
local read = redis.call('MGET', unpack(KEYS))
local now = {}
for i = 1, #KEYS do now[KEYS[i]] = read[i] end

local number, first, open = {}, {}, {}
for s = 1, shards do
  local k = (s - 1) * 4
  local generation, commit_no = now[KEYS[k + 1]], now[KEYS[k + 3]]
  local count = commit_no and tonumber(commit_no) or 0
  if commit_no and not tonumber(commit_no) then count = -1 end
  open[s] = generation == ARGV[1 + s * 2] and not now[KEYS[k + 2]]
  if open[s] and count < tonumber(ARGV[2 + s * 2]) then
    redis.pcall('SET', KEYS[k + 2], 'commit_no', 'NX')
    open[s] = false
  end
  number[s], first[s] = count, count
end

-- Usage and commit_no, by key, written together at the end: one call costs less than hundreds. Once an entry is in
-- the journal Redis refuses this script nothing more for want of memory.
local writes, place = {}, {}
local function set_at_end(key, value)
  local at = place[key] or #writes + 1
  place[key], writes[at], writes[at + 1] = at, key, value
end

local function write(i, s, seen, usage, seen_was)
  local journal, a = KEYS[(s - 1) * 4 + 4], 2 + shards * 2 + (i - 1) * 6
  local n = number[s] + 1
  local added = redis.pcall('XADD', journal, '*', 'e', ARGV[a + 6], 'n', string.format('%.0f', n),
    'g', ARGV[1 + s * 2])
  if type(added) == 'table' and added.err then return string.find(added.err, 'OOM', 1, true) and -3 or -2 end
  number[s] = n
  local usage_now, seen_now = ARGV[a + 3], ARGV[a + 5]
  if usage_now ~= '' then
    set_at_end(usage, usage_now)
    now[usage] = usage_now
  end
  if seen_now ~= '' then
    if seen_was == '' then
      redis.call('SET', seen, seen_now, 'EX', seconds)
    else
      redis.call('SET', seen, seen_now, 'KEEPTTL')
    end
    now[seen] = seen_now
  end
  return n
end

local out = {}
local items = (#KEYS - shards * 4) / 2
for i = 1, items do
  local a = 2 + shards * 2 + (i - 1) * 6
  local s = tonumber(ARGV[a + 1])
  local seen, usage = KEYS[shards * 4 + i * 2 - 1], KEYS[shards * 4 + i * 2]
  local usage_was, seen_was, seen_now = ARGV[a + 2], ARGV[a + 4], ARGV[a + 5]
  if not open[s] then
    out[i] = -1
  elseif seen_now ~= '' and seen_was == '' and now[seen] then
    out[i] = now[seen]
  elseif seen_now ~= '' and seen_was ~= '' and now[seen] ~= seen_was then
    out[i] = 0
  elseif usage_was ~= '' and now[usage] ~= usage_was then
    out[i] = 0
  else
    out[i] = write(i, s, seen, usage, seen_was)
  end
end
for s = 1, shards do
  if number[s] > first[s] then
    set_at_end(KEYS[(s - 1) * 4 + 3], string.format('%.0f', number[s]))
  end
  out[items + s] = now[KEYS[(s - 1) * 4 + 1]]
end
if #writes > 0 then redis.call('MSET', unpack(writes)) end
return out
