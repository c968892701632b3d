-- Records calls and opens their log. KEYS[2]: the index of unfinished streams, if it is on this server. ARGV:
-- stream, the stream's entry in the index, life of that in ms, number of calls, trace of the first, and for
-- each: id, request id, record, deadline in ms or 0, round, attempt, the bytes that it counts.
--
-- The map :m has  s:<stream> -> its calls   c:<call> -> its stream
--                 r:<request id> -> call    q:<request to the client> -> "place call"
--                 z:<stream> -> the bytes of its log, once it is finished
local stream, count = ARGV[A + 1], tonumber(ARGV[A + 4])
local function arg(i, j) return ARGV[A + 5 + (i - 1) * 7 + j] end

-- Whether the stream was begun with the same calls by this replica, which wrote nothing yet.
local function begun(calls)
  if #calls ~= 2 * count then return { 'exists', 'stream' } end
  for i = 1, count do
    local c = redis.call('HMGET', K .. ':c:' .. calls[2 * i - 1], 'ow', 'hd', 'ep', 'n')
    if calls[2 * i - 1] ~= arg(i, 1) or c[1] ~= me or c[2] ~= '1' or c[3] ~= '1' or c[4] ~= '0' then
      return { 'exists', 'stream' }
    end
  end
  return { 'ok', '' }
end

return run(function()
  local there = standing(stream)
  if there then return begun(there) end
  if sess.open >= maxstreams then return { 'limit', int(sess.open) .. ' unfinished streams' } end
  local seen, calls, size, keys, map = {}, {}, 0, streamkeys(stream), { 's:' .. stream, '' }
  for i = 1, count do
    local id = arg(i, 1)
    if seen[id] or redis.call('HEXISTS', K .. ':m', 'c:' .. id) == 1 then return { 'exists', 'call ' .. id } end
    seen[id] = true
    table.insert(calls, id)
    table.insert(calls, arg(i, 2))
    table.insert(keys, K .. ':c:' .. id)
    for _, v in ipairs({ 'c:' .. id, stream, 'r:' .. arg(i, 2), id }) do table.insert(map, v) end
    size = size + tonumber(arg(i, 7))
  end
  if not room(size) then return noroom(size) end
  total, map[2] = total + size, cmsgpack.pack(calls)
  if KEYS[2] then
    redis.call('ZADD', KEYS[2], now, ARGV[A + 2])
    redis.call('PEXPIRE', KEYS[2], ARGV[A + 3])
  end
  -- An expired session of the same id may have left some.
  redis.call('DEL', unpack(keys))
  redis.call('HSET', K .. ':m', unpack(map))
  -- The longest of the calls decides until when the stream's keys live.
  local longest = 0
  for i = 1, count do
    local id, deadline = arg(i, 1), tonumber(arg(i, 4))
    local till = deadline > 0 and deadline or now + endless
    redis.call('HSET', K .. ':c:' .. id, 'st', stream, 'b', arg(i, 3), 'dl', arg(i, 4), 'rd', arg(i, 5), 'at', arg(i, 6),
      'len', arg(i, 7), 'ph', DISPATCHED, 'ow', me, 'hd', 1, 'ep', 1, 'n', 0)
    redis.call('PEXPIREAT', K .. ':c:' .. id, int(math.max(till, now) + ttl))
    longest = math.max(longest, till)
  end
  redis.call('HSET', K .. ':t:' .. stream, 'ep', 1, 'seq', 0, 'cnt', 0, 'len', 0, 'soft', 0, 'floor', 0, 'unf', count, 'tr', ARGV[A + 5])
  redis.call('PEXPIREAT', K .. ':t:' .. stream, int(math.max(longest, now) + ttl))
  -- These may be new.
  local aux = int(math.max(sess.aux, now + math.max(lease, renewal)))
  if sess.open == 0 then redis.call('PEXPIREAT', K .. ':m', aux) end
  sess.open, sess.run, sess.dl, sess.any = sess.open + 1, sess.run + count, math.max(sess.dl, longest), true
  -- The client that waits for the calls follows their stream here.
  redis.call('ZADD', K .. ':f', int(now + math.max(lease, renewal)), me .. ' 0 ' .. stream)
  redis.call('PEXPIREAT', K .. ':f', aux)
  return { 'ok', '' }
end)
