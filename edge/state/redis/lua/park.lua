-- Ends a round. ARGV: stream, call, epoch, n, state, number of asks, and for each: id, key, elicitation
-- id, message, record. Returns how many entries were dropped.
local stream, call = ARGV[A + 1], ARGV[A + 2]
local count = tonumber(ARGV[A + 6])
local function arg(i, j) return ARGV[A + 6 + (i - 1) * 5 + j] end
return run(function()
  local refused, s, c = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then return refused end
  local key, seen = K .. ':c:' .. call, {}
  for i = 1, count do
    local other = redis.call('HGET', K .. ':m', 'q:' .. arg(i, 1))
    if seen[arg(i, 1)] or other and string.match(other, '^%d+ (.*)$') ~= call then
      return { 'exists', 'request ' .. arg(i, 1) .. ' to the client' }
    end
    seen[arg(i, 1)] = true
  end
  local kept, messages = #ARGV[A + 5], 0
  for i = 1, count do messages = messages + #arg(i, 4) end
  if not makeroom(s, kept - c.kept + messages) then return noroom(kept - c.kept + messages) end
  total = total + kept - c.kept
  forget(call)
  redis.call('HSET', key, 'n', ARGV[A + 4], 'sv', ARGV[A + 5], 'kept', kept)
  if count == 0 then
    redis.call('HSET', key, 'ph', READY, 'at', 1, 'lp', 0)
    redis.call('HINCRBY', key, 'rd', 1)
    keepstream(stream, call)
    return { 'ok', 0, 0 }
  end
  closeall(call)
  redis.call('HSET', key, 'ph', WAITING, 'hd', 0, 'na', count, 'miss', count)
  for i = 1, count do
    redis.call('HSET', key, 'i:' .. i, arg(i, 1), 'g:' .. i, arg(i, 4), 'a:' .. i, arg(i, 5))
    redis.call('HSET', K .. ':m', 'q:' .. arg(i, 1), i .. ' ' .. call)
    if arg(i, 3) ~= '' then redis.call('HSET', key, 'o:' .. arg(i, 2), arg(i, 3)) end
    add(s, '4', arg(i, 4))
  end
  bound(s)
  keeplog(s)
  savestream(s)
  keepstream(stream, call)
  wake(stream)
  return { 'ok', s.dropped, 0 }
end)
