-- Appends to a log. ARGV: stream, call, epoch, n, 1 if the backend is being called, entries as addall takes
-- them. Returns how many were dropped, 0, the log's epoch and last number, and how many were added.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local refused, s, c = fence(stream, call, tonumber(ARGV[A + 3]), tonumber(ARGV[A + 4]))
  if refused then return refused end
  local fields, highest = { 'n', ARGV[A + 4] }, addall(s, call, ARGV[A + 6], c.progress)
  if highest then fields[3], fields[4] = 'pr', highest end
  if ARGV[A + 5] == '1' then
    table.insert(fields, 'ph')
    table.insert(fields, DISPATCHED)
  end
  redis.call('HSET', K .. ':c:' .. call, unpack(fields))
  if ARGV[A + 6] ~= '' then
    bound(s)
    keeplog(s)
    savestream(s)
  end
  -- Else they live until the deadline and longer already.
  if now > tonumber(c.deadline) then keepstream(stream, call) end
  if ARGV[A + 6] ~= '' then wake(stream) end
  return { 'ok', s.dropped, 0, int(s.ep), int(s.seq), s.added }
end)
