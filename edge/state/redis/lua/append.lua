-- Appends to a log. ARGV: stream, call, epoch, n, 1 if the backend is being called, number of entries,
-- and for each: kind, data, progress, key of the elicitation it completes. Returns how many were dropped, 0, the log's epoch and
-- last number, and how many were added.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local refused = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then return refused end
  local key, s = K .. ':c:' .. call, loadstream(stream)
  local highest = redis.call('HGET', key, 'pr')
  local count = tonumber(ARGV[A + 6])
  for i = 1, count do
    local at = A + 6 + (i - 1) * 4
    local kind, data, progress, completes = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    if kind == '1' and (not highest or tonumber(progress) > tonumber(highest)) then highest = progress end
    if kind == '3' and completes ~= '' then redis.call('HDEL', key, 'o:' .. completes) end
    add(s, kind, data, progress)
  end
  if highest then redis.call('HSET', key, 'pr', highest) end
  if ARGV[A + 5] == '1' then redis.call('HSET', key, 'ph', DISPATCHED) end
  redis.call('HSET', key, 'n', ARGV[A + 4])
  savestream(s)
  keepstream(stream, call)
  if count > 0 then wake(stream) end
  return { 'ok', s.dropped, 0, int(s.ep), int(s.seq), s.added }
end)
