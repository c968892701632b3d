-- Ends a call. KEYS[2]: the index of unfinished streams, if it is on this server. ARGV: stream, call, epoch,
-- n, 1 if there is a response, response, the stream's entry in the index, entries before the response as addall
-- takes them. Returns how many entries were
-- dropped, 1 when the stream has ended, the log's epoch and last number, and how many were added.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local refused, s, c = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then
    -- A repetition: the index may still have to be told.
    if refused[1] == 'ok' and redis.call('ZSCORE', K .. ':e', stream) then refused[3] = 1 end
    return refused
  end
  local key = K .. ':c:' .. call
  -- Only what fences late writers is kept.
  total = total - c.len - c.kept
  addall(s, call, ARGV[A + 8])
  if ARGV[A + 5] == '1' then add(s, '5', ARGV[A + 6]) end
  bound(s)
  if c.asks > 0 then forget(call) end
  redis.call('DEL', key)
  redis.call('HSET', key, 'st', stream, 'ep', ARGV[A + 3], 'dl', c.deadline, 'n', ARGV[A + 4], 'hd', 0, 'ph', DONE)
  s.unf = s.unf - 1
  savestream(s)
  sess.run = math.max(sess.run - 1, 0)
  if sess.run == 0 then sess.dl = 0 end
  if s.unf > 0 then
    keeplog(s)
    keepstream(stream, call)
  else
    sess.open = math.max(sess.open - 1, 0)
    redis.call('HSET', K .. ':m', 'z:' .. stream, int(s.len))
    retire(s, callsof(stream))
    if KEYS[2] then redis.call('ZREM', KEYS[2], ARGV[A + 7]) end
  end
  wake(stream)
  if s.unf == 0 then
    -- Who was registered with the beginning is here, and reads the end.
    redis.call('ZREM', K .. ':f', me .. ' 0 ' .. stream)
  end
  return { 'ok', s.dropped, s.unf == 0 and 1 or 0, int(s.ep), int(s.seq), s.added }
end)
