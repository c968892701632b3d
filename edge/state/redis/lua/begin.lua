-- Records calls and opens their log. ARGV: stream, number of calls, trace of the first, and for each: id,
-- request id, record, deadline in ms or 0, round, attempt, bytes of its params.
--
-- The map :m has  s:<stream> -> its calls   c:<call> -> its stream
--                 r:<request id> -> call    q:<request to the client> -> "place call"
--                 z:<stream> -> the bytes of its log, once it is finished
local stream, count = ARGV[A + 1], tonumber(ARGV[A + 2])
local function arg(i, j) return ARGV[A + 3 + (i - 1) * 7 + j] end

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
  if lapsed(stream) then dropstream(stream) end
  local there = callsof(stream)
  if there then return begun(there) end
  local open = tonumber(redis.call('HGET', K, 'open') or 0)
  if open >= maxstreams then return { 'limit', int(open) .. ' unfinished streams' } end
  local seen, calls, params = {}, {}, 0
  for i = 1, count do
    local id = arg(i, 1)
    if seen[id] or redis.call('HEXISTS', K .. ':m', 'c:' .. id) == 1 then return { 'exists', 'call ' .. id } end
    seen[id] = true
    table.insert(calls, id)
    table.insert(calls, arg(i, 2))
    params = params + tonumber(arg(i, 7))
  end
  if not room(params) then return { 'limit', int(total) .. ' bytes for calls and streams' } end
  total = total + params
  -- An expired session of the same id may have left some.
  redis.call('DEL', unpack(streamkeys(stream)))
  savestream({ name = stream, ep = 1, seq = 0, cnt = 0, len = 0, soft = 0, unf = count })
  if ARGV[A + 3] ~= '' then redis.call('HSET', K .. ':t:' .. stream, 'tr', ARGV[A + 3]) end
  redis.call('HSET', K .. ':m', 's:' .. stream, cmsgpack.pack(calls))
  local longest = tonumber(redis.call('HGET', K, 'dl') or 0)
  for i = 1, count do
    local id, deadline = arg(i, 1), tonumber(arg(i, 4))
    redis.call('DEL', K .. ':c:' .. id)
    redis.call('HSET', K .. ':c:' .. id, 'st', stream, 'b', arg(i, 3), 'dl', arg(i, 4), 'rd', arg(i, 5), 'at', arg(i, 6),
      'len', arg(i, 7), 'ph', DISPATCHED, 'ow', me, 'hd', 1, 'ep', 1, 'n', 0)
    redis.call('HSET', K .. ':m', 'c:' .. id, stream, 'r:' .. arg(i, 2), id)
    keepstream(stream, id)
    longest = math.max(longest, deadline > 0 and deadline or now + endless)
  end
  redis.call('HINCRBY', K, 'open', 1)
  redis.call('HINCRBY', K, 'run', count)
  redis.call('HSET', K, 'dl', int(longest), 'any', 1)
  -- The client that waits for the calls follows their stream here.
  redis.call('ZADD', K .. ':f', int(now + math.max(lease, renewal)), me .. ' 0 ' .. stream)
  return { 'ok', '' }
end)
