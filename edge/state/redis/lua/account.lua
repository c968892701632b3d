-- Functions on the accounts of callers, which bound what all sessions of a caller keep, in all
-- media together. This file follows clock.lua and precedes the session scripts.
--
-- An account is a sorted set of sessions, scored by their expected end, and a hash, with the suffix
-- ":b", of the bytes that each session has, with their sum under the empty name. Both keys expire
-- with the last session.

-- Removes a session from an account.
local function giveback(account, session)
  local had = tonumber(redis.call('HGET', account .. ':b', session) or 0)
  redis.call('ZREM', account, session)
  redis.call('HDEL', account .. ':b', session)
  if redis.call('ZCARD', account) == 0 then
    redis.call('DEL', account .. ':b', account .. ':c')
  elseif had ~= 0 then
    redis.call('HINCRBY', account .. ':b', '', int(-had))
  end
end

-- Lends a session want bytes until the time till, or at least the least of them. force ignores the
-- bound. Returns the lent bytes. If they do not fit, it returns nil and the bytes of the other
-- sessions.
local function borrow(account, session, want, least, most, now, till, force)
  for _, ended in ipairs(redis.call('ZRANGEBYSCORE', account, '-inf', int(now), 'LIMIT', 0, 256)) do giveback(account, ended) end
  local had = redis.call('HMGET', account .. ':b', session, '')
  local own, sum = tonumber(had[1] or 0), tonumber(had[2] or 0)
  local others = math.max(sum - own, 0)
  if not force then
    if others + least > most then return nil, others end
    want = math.max(least, math.min(want, most - others))
  end
  redis.call('HSET', account .. ':b', session, int(want), '', int(others + want))
  redis.call('ZADD', account, int(math.max(till, now + 1)), session)
  local last = int(tonumber(redis.call('ZREVRANGE', account, 0, 0, 'WITHSCORES')[2]))
  redis.call('PEXPIREAT', account, last)
  redis.call('PEXPIREAT', account .. ':b', last)
  return want
end

-- Returns some sessions of an account, those with the earliest expected end first; none if that was
-- done within the last second.
local function ending(account)
  if not redis.call('SET', account .. ':c', 1, 'NX', 'PX', 1000) then return {} end
  return redis.call('ZRANGE', account, 0, 255)
end
