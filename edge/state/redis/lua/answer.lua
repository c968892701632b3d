-- Records an answer. ARGV: ask, answer, nonce. Returns the claim with code "completed".
return run(function()
  local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 1])
  if not where then return { 'unknown' } end
  local i, call = string.match(where, '^(%d+) (.*)$')
  local key, nonce = K .. ':c:' .. call, ARGV[A + 3]
  if redis.call('HSETNX', key, 'r:' .. i, ARGV[A + 2]) == 0 then
    local c = redis.call('HMGET', key, 'nonce', 'n', 'ow', 'hd')
    if c[1] ~= nonce or c[2] ~= '0' or c[3] ~= me or c[4] ~= '1' then return { 'duplicate' } end
    -- The same attempt again: its answer was lost on the way.
    return { 'completed', READY, redis.call('HGET', K, 'rec'), call, redis.call('HGETALL', key) }
  end
  keepstream(redis.call('HGET', key, 'st'), call)
  if redis.call('HINCRBY', key, 'miss', -1) > 0 then return { 'taken' } end
  redis.call('HSET', key, 'ph', READY, 'at', 1)
  redis.call('HINCRBY', key, 'rd', 1)
  return { 'completed', unpack(claim(call, READY, nonce)) }
end)
