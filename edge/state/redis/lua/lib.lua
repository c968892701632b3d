-- What the scripts of a session share; it precedes each of them.
--
-- KEYS[1] is the session's record. The other keys of the session are its name and a suffix: they have
-- the same hash tag, hence the same slot.
--   :h holders, replica -> last use        :f followers, "replica number stream" -> until
--   :m what is where (see begin.lua)       :e finished streams -> when they ended
--   :t:<stream> the stream's counters      :l:<stream> its log, a Redis stream of ids <seq>-0
--   :d:<stream> its droppable entries      :c:<call> the call's record
--   :x the holders of an erased session
local K = KEYS[1]
local me, ttl, logttl, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local maxevents, maxbytes, inbox = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local maxtotal, maxstreams, claimlife = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
-- The longest pause between two uses that a replica counts; a session lives so much longer.
local renewal = tonumber(ARGV[11])
-- A script's own arguments begin behind these.
local A = 11

-- The bytes of the session's logs and of the params of its calls that are not done; see run.
local total = 0

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- A call without a deadline is kept so long after its last write; a silent holder so long after its last use.
local endless, holding = 30 * 24 * 3600 * 1000, 600 * 1000

local function int(n) return string.format('%.0f', n) end

local function streamkeys(stream)
  return { K .. ':t:' .. stream, K .. ':l:' .. stream, K .. ':d:' .. stream }
end

-- The calls of a stream, as call, request id, call, request id ...; nil when there is no such stream.
local function callsof(stream)
  local packed = redis.call('HGET', K .. ':m', 's:' .. stream)
  return packed and cmsgpack.unpack(packed)
end

-- Forgets a finished stream and its calls. Its keys may have expired, so its size is in the map too.
local function dropstream(stream)
  local calls = callsof(stream)
  for i = 1, calls and #calls or 0, 2 do
    redis.call('DEL', K .. ':c:' .. calls[i])
    redis.call('HDEL', K .. ':m', 'c:' .. calls[i])
    if redis.call('HGET', K .. ':m', 'r:' .. calls[i + 1]) == calls[i] then
      redis.call('HDEL', K .. ':m', 'r:' .. calls[i + 1])
    end
  end
  redis.call('DEL', unpack(streamkeys(stream)))
  total = total - tonumber(redis.call('HGET', K .. ':m', 'z:' .. stream) or 0)
  redis.call('HDEL', K .. ':m', 's:' .. stream, 'z:' .. stream)
  redis.call('ZREM', K .. ':e', stream)
end

-- Whether a finished stream can no longer be replayed.
local function lapsed(stream)
  local ended = redis.call('ZSCORE', K .. ':e', stream)
  return ended and now - tonumber(ended) > logttl
end

-- Counts a use of the session: sets the expiry of its keys and, unless hold is false, registers the
-- holder. Returns the index entry that is due to be renewed: "until key", or "".
local function keep(hold)
  if hold ~= false and redis.call('ZADD', K .. ':h', now, me) == 1 then
    redis.call('ZREMRANGEBYSCORE', K .. ':h', '-inf', '(' .. int(now - holding))
  end
  local s = redis.call('HMGET', K, 'run', 'dl', 'idx', 'own', 'any')
  local till = now + ttl + renewal
  if tonumber(s[1] or 0) > 0 then till = math.max(till, tonumber(s[2]) + ttl) end
  local f = redis.call('ZREVRANGE', K .. ':f', 0, 0, 'WITHSCORES')
  if f[2] then
    redis.call('ZREMRANGEBYSCORE', K .. ':f', '-inf', int(now))
    till = math.max(till, tonumber(f[2]))
    redis.call('PEXPIREAT', K .. ':f', int(till))
  end
  redis.call('PEXPIREAT', K, int(till))
  redis.call('PEXPIREAT', K .. ':h', int(till))
  if s[5] then
    redis.call('PEXPIREAT', K .. ':m', int(till))
    redis.call('PEXPIREAT', K .. ':e', int(till))
  end
  if till <= tonumber(s[3]) - ttl / 4 then return '' end
  local idx = int(till + ttl / 2)
  redis.call('HSET', K, 'idx', idx)
  return idx .. ' ' .. s[4]
end

-- Runs a script's main on a session that is there, as a use of it. The result is main's with what keep
-- returns put second. The field "any" says that the session ever had a stream.
local function run(main, hold)
  local s = redis.call('HMGET', K, 'own', 'any', 'by')
  if not s[1] then return { 'gone', '' } end
  total = tonumber(s[3] or 0)
  local before = total
  if s[2] then
    local old = redis.call('ZRANGEBYSCORE', K .. ':e', '-inf', '(' .. int(now - logttl), 'LIMIT', 0, 64)
    for _, stream in ipairs(old) do dropstream(stream) end
  end
  local r = main()
  if total ~= before then redis.call('HSET', K, 'by', int(total)) end
  table.insert(r, 2, keep(hold))
  return r
end
