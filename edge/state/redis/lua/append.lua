-- Appends to a log. ARGV: stream, call, epoch, n, 1 if the backend is being called, number of entries,
-- and for each: kind, data, progress, key of the elicitation it completes. Returns how many were dropped, 0, the log's epoch and
-- last number, and how many were added.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local refused, s, c = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then return refused end
  local key, highest, count = K .. ':c:' .. call, c.progress, tonumber(ARGV[A + 6])
  for i = 1, count do
    local at = A + 6 + (i - 1) * 4
    local kind, data, progress, completes = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    if kind == '1' and (not highest or tonumber(progress) > tonumber(highest)) then highest = progress end
    if kind == '3' and completes ~= '' then redis.call('HDEL', key, 'o:' .. completes) end
    add(s, kind, data, progress)
  end
  bound(s)
  local fields = { 'n', ARGV[A + 4] }
  if highest then table.insert(fields, 'pr') table.insert(fields, highest) end
  if ARGV[A + 5] == '1' then table.insert(fields, 'ph') table.insert(fields, DISPATCHED) end
  redis.call('HSET', key, unpack(fields))
  if count > 0 then savestream(s) end
  -- Else they live until the deadline and longer already.
  if now > tonumber(c.deadline) then keepstream(stream, call) end
  if count > 0 then wake(stream) end
  return { 'ok', s.dropped, 0, int(s.ep), int(s.seq), s.added }
end)
