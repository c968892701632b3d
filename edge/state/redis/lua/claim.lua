-- Takes a call over. ARGV: call, epoch, request id (when call is empty), token, '1' when the owner's heartbeat lapsed, the
-- random part of the next epoch.
-- Returns the claim.
local call, token = ARGV[A + 1], ARGV[A + 4]
return run(function()
  if call == '' then call = redis.call('HGET', K .. ':m', 'r:' .. ARGV[A + 3]) or '' end
  local stream = redis.call('HGET', K .. ':m', 'c:' .. call)
  if not stream or lapsed(stream) then return { 'missing' } end
  local key = K .. ':c:' .. call
  local c = redis.call('HMGET', key, 'ph', 'ep', 'dl', 'hd')
  if not c[1] then return { 'missing' } end
  if c[1] == DONE then return { 'fenced', 'the call is done' } end
  -- The same attempt again: its reply was lost on the way.
  if repeats(call, token) then return { 'ok', owned(call) } end
  local ahead = ARGV[A + 1] ~= '' and tonumber(ARGV[A + 2]) - tonumber(c[2]) or 0
  if ahead < 0 then return { 'fenced', 'the call is at epoch ' .. c[2] .. ', not ' .. ARGV[A + 2] } end
  if ARGV[A + 1] ~= '' and ahead == 0 and c[1] == WAITING and c[4] ~= '1'
    and (tonumber(c[3]) == 0 or now <= tonumber(c[3])) then
    return { 'fenced', 'the call waits for its client' }
  end
  if ahead > 0 then
    -- What gave that lease was lost.
    redis.call('HSET', key, 'ep', ARGV[A + 2], 'ph', DISPATCHED)
  elseif c[1] == DISPATCHED then
    redis.call('HINCRBY', key, 'at', 1)
    if ARGV[A + 5] == '1' then redis.call('HINCRBY', key, 'lp', 1) end
  end
  claim(call, c[1], token, ARGV[A + 6])
  return { 'ok', owned(call) }
end)
