-- Records an answer. KEYS[2]: the index of unfinished streams, if it is on this server. ARGV: ask,
-- answer, token, bytes of the answer, the random bits of the next epoch, the session as in the
-- index's entries, the keys that the replica has, see foreign, '1' if the replica may claim the call
-- now. Returns the call with the codes "completed" and "taken", and the stream with "index": the
-- answer would claim the call and is not stored; the replica indexes the stream, then answers again.
local random = ARGV[A + 5]
return run(function()
  local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 1])
  if not where then return { 'unknown' } end
  local i, call = string.match(where, '^(%d+) (.*)$')
  local key, token = K .. ':c:' .. call, ARGV[A + 3]
  local c = redis.call('HMGET', key, 'ph', 'hd', 'st', 't:' .. i, 'r:' .. i, 'v', 'miss')
  if c[6] and c[6] ~= LAYOUT then return { 'layout', c[6] } end
  local lacks = foreign(ARGV[A + 7], call)
  if lacks then return { 'sealed', lacks } end
  if c[5] then
    if c[4] ~= token then return { 'duplicate' } end
    -- This is a repetition of an attempt whose reply was lost.
    return { claimed(call, random) and 'completed' or 'taken', owned(call) }
  end
  if c[1] ~= WAITING or c[2] == '1' then return { 'unknown' } end
  if c[7] == '1' and ARGV[A + 8] ~= '1' then return { 'index', c[3] } end
  local size = tonumber(ARGV[A + 4])
  if not room(size) then
    local s = loadstream(c[3])
    if not s or not makeroom(s, size) then return noroom(size) end
  end
  local refused = afford(sess.account, total + size, tonumber(sess.idx))
  if refused then return refused end
  total = total + size
  redis.call('HSET', key, 'r:' .. i, ARGV[A + 2], 't:' .. i, token)
  redis.call('HINCRBY', key, 'kept', size)
  redis.call('HINCRBY', key, 'n', 1)
  keepstream(c[3], call)
  if redis.call('HINCRBY', key, 'miss', -1) > 0 then return { 'taken', owned(call) } end
  claim(call, random, false, false, KEYS[2], ARGV[A + 6])
  return { 'completed', owned(call) }
end)
