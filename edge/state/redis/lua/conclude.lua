-- Records a call that has ended, and its stream with it. ARGV: stream, call, request id, trace, response, entries
-- before the response as addall takes them. Returns what finish.lua does.
local stream, call = ARGV[A + 1], ARGV[A + 2]

-- A repetition?
local function concluded(calls)
  local s = loadstream(stream)
  return #calls == 2 and calls[1] == call and s and s.unf == 0
end

return run(function()
  local there = standing(stream)
  if there then return concluded(there) and { 'ok', 0, 1, 0, 0, 0 } or { 'exists', 'stream' } end
  local s = { name = stream, ep = 1, seq = 0, cnt = 0, len = 0, soft = 0, unf = 0, floor = 0, dropped = 0, added = 0 }
  -- An expired session of the same id may have left some.
  redis.call('DEL', unpack(streamkeys(stream)))
  addall(s, call, ARGV[A + 6])
  add(s, '5', ARGV[A + 5])
  bound(s)
  savestream(s, 'tr', ARGV[A + 4])
  redis.call('HSET', K .. ':m', 's:' .. stream, cmsgpack.pack({ call, ARGV[A + 3] }), 'z:' .. stream, int(s.len))
  -- The map may be new.
  if retire(s, {}) == 1 and sess.open == 0 then redis.call('PEXPIREAT', K .. ':m', int(math.max(sess.aux, now + ttl))) end
  sess.any = sess.any or true
  return { 'ok', s.dropped, 1, int(s.ep), int(s.seq), s.added }
end)
