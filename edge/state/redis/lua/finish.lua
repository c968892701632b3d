-- Ends a call. ARGV: stream, call, epoch, n, 1 if there is a response, response. Returns how many
-- entries were dropped, 1 when the stream has ended, the log's epoch and last number, and how many were
-- added.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local refused = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then
    -- A repetition: the index may still have to be told.
    if refused[1] == 'ok' and redis.call('ZSCORE', K .. ':e', stream) then refused[3] = 1 end
    return refused
  end
  local key, s = K .. ':c:' .. call, loadstream(stream)
  -- Only what fences late writers is kept.
  local left = redis.call('HMGET', key, 'ep', 'dl', 'len')
  total = total - tonumber(left[3])
  if ARGV[A + 5] == '1' then add(s, '5', ARGV[A + 6]) end
  forget(call)
  redis.call('DEL', key)
  redis.call('HSET', key, 'st', stream, 'ep', left[1], 'dl', left[2], 'n', ARGV[A + 4], 'hd', 0, 'ph', DONE)
  s.unf = s.unf - 1
  savestream(s)
  keepstream(stream, call)
  if redis.call('HINCRBY', K, 'run', -1) <= 0 then redis.call('HDEL', K, 'run', 'dl') end
  if s.unf == 0 then
    redis.call('HINCRBY', K, 'open', -1)
    -- To the microsecond: the oldest are forgotten first.
    redis.call('ZADD', K .. ':e', string.format('%.3f', clock[1] * 1000 + clock[2] / 1000), stream)
    redis.call('HSET', K .. ':m', 'z:' .. stream, int(s.len))
    local till, calls = int(now + logttl + 1), callsof(stream)
    for i = 1, #calls, 2 do redis.call('PEXPIREAT', K .. ':c:' .. calls[i], till) end
    for _, k in ipairs(streamkeys(stream)) do redis.call('PEXPIREAT', k, till) end
    local kept = redis.call('ZCARD', K .. ':e')
    if kept > maxstreams then
      for _, old in ipairs(redis.call('ZRANGE', K .. ':e', 0, kept - maxstreams - 1)) do dropstream(old) end
    end
  end
  wake(stream)
  if s.unf == 0 then
    -- Who was registered with the beginning is here, and reads the end.
    redis.call('ZREM', K .. ':f', me .. ' 0 ' .. stream)
  end
  return { 'ok', s.dropped, s.unf == 0 and 1 or 0, int(s.ep), int(s.seq), s.added }
end)
