-- Counts a session of a principal. KEYS[1]: its sessions, scored by their expected end. ARGV:
-- session, bound, life of a reservation in ms, 1 to request sessions to check. Returns ok, had, or
-- full with some sessions that may have ended.
local life = tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now))
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 'had', {} } end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  if ARGV[4] ~= '1' or not redis.call('SET', KEYS[1] .. ':checked', 1, 'NX', 'PX', 1000) then return { 'full', {} } end
  local suspects = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', int(now + life - 1000), 'LIMIT', 0, 256)
  -- A session whose expected end is later than the life of a session without calls may have had a
  -- call that is done.
  for _, s in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. int(now + life), '+inf', 'LIMIT', 0, 256)) do
    table.insert(suspects, s)
  end
  return { 'full', suspects }
end
redis.call('ZADD', KEYS[1], int(now + life), ARGV[1])
if redis.call('PTTL', KEYS[1]) < life then redis.call('PEXPIRE', KEYS[1], int(life)) end
return { 'ok', {} }
