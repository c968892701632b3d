-- Records an answer. ARGV: ask, answer, token. Returns the claim with code "completed".
return run(function()
  local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 1])
  if not where then return { 'unknown' } end
  local i, call = string.match(where, '^(%d+) (.*)$')
  local key, token = K .. ':c:' .. call, ARGV[A + 3]
  if redis.call('HSETNX', key, 'r:' .. i, ARGV[A + 2]) == 0 then
    local c = redis.call('HMGET', key, 't:' .. i, 'miss')
    if c[1] ~= token then return { 'duplicate' } end
    -- The same attempt again: its reply was lost on the way.
    if repeats(call, token) then return { 'completed', owned(call) } end
    return { tonumber(c[2]) > 0 and 'taken' or 'duplicate' }
  end
  redis.call('HSET', key, 't:' .. i, token)
  keepstream(redis.call('HGET', key, 'st'), call)
  if redis.call('HINCRBY', key, 'miss', -1) > 0 then return { 'taken' } end
  redis.call('HSET', key, 'ph', READY, 'at', 1)
  redis.call('HINCRBY', key, 'rd', 1)
  claim(call, READY, token)
  return { 'completed', owned(call) }
end)
