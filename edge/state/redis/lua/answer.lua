-- Records an answer. ARGV: ask, answer, token, bytes of the answer, the random part of the next epoch. Returns the claim
-- with code "completed".
return run(function()
  local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 1])
  if not where then return { 'unknown' } end
  local i, call = string.match(where, '^(%d+) (.*)$')
  local key, token = K .. ':c:' .. call, ARGV[A + 3]
  if redis.call('HEXISTS', key, 'r:' .. i) == 1 then
    local c = redis.call('HMGET', key, 't:' .. i, 'miss')
    if c[1] ~= token then return { 'duplicate' } end
    -- The same attempt again: its reply was lost on the way.
    if repeats(call, token) then return { 'completed', owned(call) } end
    return { tonumber(c[2]) > 0 and 'taken' or 'duplicate' }
  end
  local size, stream = tonumber(ARGV[A + 4]), redis.call('HGET', key, 'st')
  if not room(size) then
    local s = loadstream(stream)
    if not s or not makeroom(s, size) then return noroom(size) end
  end
  total = total + size
  redis.call('HSET', key, 'r:' .. i, ARGV[A + 2], 't:' .. i, token)
  redis.call('HINCRBY', key, 'kept', size)
  keepstream(stream, call)
  if redis.call('HINCRBY', key, 'miss', -1) > 0 then return { 'taken' } end
  redis.call('HSET', key, 'ph', READY, 'at', 1, 'lp', 0)
  redis.call('HINCRBY', key, 'rd', 1)
  claim(call, READY, token, ARGV[A + 5])
  return { 'completed', owned(call) }
end)
