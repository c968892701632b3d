-- Gives up a claim whose answer was lost, unless something was written under it. ARGV: nonce, and
-- either an ask or a call or a request id, each or "".
return run(function()
  local call = ARGV[A + 3]
  if ARGV[A + 2] ~= '' then
    local where = redis.call('HGET', K .. ':m', 'q:' .. ARGV[A + 2])
    call = where and string.match(where, '^%d+ (.*)$') or ''
  elseif call == '' then
    call = redis.call('HGET', K .. ':m', 'r:' .. ARGV[A + 4]) or ''
  end
  local key = K .. ':c:' .. call
  local c = redis.call('HMGET', key, 'nonce', 'n', 'ow', 'hd')
  if c[1] == ARGV[A + 1] and c[2] == '0' and c[3] == me and c[4] == '1' then
    redis.call('HSET', key, 'ow', '-')
    return { 'ok', 1 }
  end
  return { 'ok', 0 }
end, false)
