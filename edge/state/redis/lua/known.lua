-- Returns the stored state of a call, for Restore to merge. ARGV: stream, call, epoch, n, '1' to
-- skip a call that is current and was never restored, '1' if this replica runs the call. Returns
-- "stands" for a skipped call, and releases its lease if the replica does not run it. Otherwise it
-- returns the call's fields (none if it is unknown), how many calls of the stream are known, how
-- many there are (0: one that is no batch), its log, the log's floor, and where its epochs begin.
local stream, call = ARGV[A + 1], ARGV[A + 2]
return run(function()
  local calls, key = standing(stream), K .. ':c:' .. call
  local c = redis.call('HMGET', key, 'ep', 'n', 'rv', 'hd', 'ow', 'v', 'st')
  if c[6] and c[6] ~= LAYOUT then return { 'layout', c[6] } end
  local at = redis.call('HGET', K .. ':m', 'c:' .. call)
  if at and at ~= stream then return { 'exists', 'it is in another stream' } end
  local s = calls and loadstream(stream)
  if not s then return { 'ok', {}, 0, 0, {}, '0', {} } end
  if not at then return { 'ok', {}, #calls / 2, s.batch, {}, '0', {} } end
  if ARGV[A + 5] == '1' and c[1] == ARGV[A + 3] and tonumber(c[2]) >= tonumber(ARGV[A + 4]) and not c[3] then
    if c[4] == '1' and c[5] == me and ARGV[A + 6] ~= '1' then redis.call('HSET', key, 'hd', 0) end
    return { 'stands' }
  end
  local begin, log = {}, {}
  if s.batch == 0 then log = redis.call('XRANGE', K .. ':l:' .. stream, '-', '+') end
  for _, v in ipairs(s.segments) do table.insert(begin, int(v)) end
  return { 'ok', redis.call('HGETALL', key), #calls / 2, s.batch, log, int(s.floor), begin }
end)
