-- Claims a call. KEYS[2]: the index of unfinished streams, if it is on this server. ARGV: call,
-- epoch or 0, request id or "", the random bits of the next epoch, '1' if the owner's heartbeat
-- lapsed, '1' and by whom if the client has cancelled the call, the session as in the index's
-- entries, the keys that the replica has, see foreign, the latest deadline or 0
-- (see ClaimTarget.Latest). Returns the call.
local call, epoch, request, random = ARGV[A + 1], ARGV[A + 2], ARGV[A + 3], ARGV[A + 4]
return run(function()
  if request ~= '' then call = redis.call('HGET', K .. ':m', 'r:' .. request) or '' end
  local stream = redis.call('HGET', K .. ':m', 'c:' .. call)
  if not stream or lapsed(stream) then return { 'missing' } end
  local c = redis.call('HMGET', K .. ':c:' .. call, 'ph', 'ep', 'dl', 'hd', 'miss', 'v')
  if not c[1] then return { 'missing' } end
  if c[6] ~= LAYOUT then return { 'layout', c[6] or '' } end
  if tonumber(ARGV[A + 9]) > 0 and tonumber(c[3]) > tonumber(ARGV[A + 9]) then return { 'missing' } end
  if c[1] == DONE then return { 'fenced', 'the call is done' } end
  local lacks = foreign(ARGV[A + 8], call)
  if lacks then return { 'sealed', lacks } end
  -- This is a repetition of an attempt whose reply was lost.
  if claimed(call, random) then return { 'ok', owned(call) } end
  if epoch ~= '0' then
    if epoch ~= c[2] then return { 'fenced', 'the call is at epoch ' .. c[2] .. ', not ' .. epoch } end
    local late = tonumber(c[3]) > 0 and now > tonumber(c[3])
    if c[1] == WAITING and c[4] ~= '1' and tonumber(c[5]) > 0 and not late then return { 'fenced', 'the call waits for its client' } end
  end
  claim(call, random, ARGV[A + 5] == '1' and c[4] == '1', string.sub(ARGV[A + 6], 1, 1) == '1' and string.sub(ARGV[A + 6], 2), KEYS[2], ARGV[A + 7])
  return { 'ok', owned(call) }
end)
