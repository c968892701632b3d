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
-- A script's own arguments begin behind these.
local A = 7

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- A call without a deadline is kept so long after its last write; a silent holder so long after its last use.
local endless, holding = 30 * 24 * 3600 * 1000, 600 * 1000
local READY, DISPATCHED, WAITING, DONE = '1', '2', '3', '4'

local function int(n) return string.format('%.0f', n) end

local function streamkeys(stream)
  return { K .. ':t:' .. stream, K .. ':l:' .. stream, K .. ':d:' .. stream }
end

-- The calls of a stream, as call, request id, call, request id ...; nil when there is no such stream.
local function callsof(stream)
  local packed = redis.call('HGET', K .. ':m', 's:' .. stream)
  return packed and cmsgpack.unpack(packed)
end

-- Forgets a finished stream and its calls.
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
  redis.call('HDEL', K .. ':m', 's:' .. stream)
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
  local till = now + ttl
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
  local s = redis.call('HMGET', K, 'own', 'any')
  if not s[1] then return { 'gone', '' } end
  if s[2] then
    local old = redis.call('ZRANGEBYSCORE', K .. ':e', '-inf', '(' .. int(now - logttl), 'LIMIT', 0, 64)
    for _, stream in ipairs(old) do dropstream(stream) end
  end
  local r = main()
  table.insert(r, 2, keep(hold))
  return r
end

-- Tells the other replicas that follow a stream, or any if it is nil, that its log changed.
local function wake(stream)
  local told = {}
  for _, m in ipairs(redis.call('ZRANGE', K .. ':f', 0, -1)) do
    local replica, name = string.match(m, '^(%S+) %S+ (.*)$')
    if replica ~= me and (stream == nil or name == stream) and not told[replica .. ' ' .. name] then
      told[replica .. ' ' .. name] = true
      redis.call('PUBLISH', inbox .. replica, 'w' .. #K .. ':' .. K .. name)
    end
  end
end

local function loadstream(stream)
  local v = redis.call('HMGET', K .. ':t:' .. stream, 'ep', 'seq', 'cnt', 'len', 'soft', 'unf')
  if not v[1] then return nil end
  return { name = stream, ep = tonumber(v[1]), seq = tonumber(v[2]), cnt = tonumber(v[3]),
    len = tonumber(v[4]), soft = tonumber(v[5]), unf = tonumber(v[6]), dropped = 0 }
end

local function savestream(s)
  redis.call('HSET', K .. ':t:' .. s.name, 'ep', int(s.ep), 'seq', int(s.seq), 'cnt', s.cnt, 'len', int(s.len),
    'soft', s.soft, 'unf', s.unf)
end

-- Sets until when the keys of an unfinished stream and of one of its calls live.
local function keepstream(stream, call)
  local deadline = tonumber(redis.call('HGET', K .. ':c:' .. call, 'dl') or 0)
  local till = (deadline > 0 and math.max(deadline, now) or now + endless) + ttl
  redis.call('PEXPIREAT', K .. ':c:' .. call, int(till))
  for _, key in ipairs(streamkeys(stream)) do
    -- It lives as long as the longest of its calls.
    if redis.call('PTTL', key) < till - now then redis.call('PEXPIREAT', key, int(till)) end
  end
end

-- Appends an entry within the bounds. Kinds 1 and 2 may be dropped, the oldest first.
local function add(s, kind, data, progress)
  local soft = kind == '1' or kind == '2'
  if soft and #data > maxbytes then
    s.dropped = s.dropped + 1
    return
  end
  local log, droppable = K .. ':l:' .. s.name, K .. ':d:' .. s.name
  s.seq, s.cnt, s.len = s.seq + 1, s.cnt + 1, s.len + #data
  if kind == '1' then
    redis.call('XADD', log, int(s.seq) .. '-0', 'k', kind, 'd', data, 'p', progress)
  else
    redis.call('XADD', log, int(s.seq) .. '-0', 'k', kind, 'd', data)
  end
  if soft then
    redis.call('RPUSH', droppable, int(s.seq) .. ' ' .. #data)
    s.soft = s.soft + 1
  end
  while (s.cnt > maxevents or s.len > maxbytes) and s.soft > 0 do
    local seq, len = string.match(redis.call('LPOP', droppable), '^(%d+) (%d+)$')
    redis.call('XDEL', log, seq .. '-0')
    s.cnt, s.len, s.soft, s.dropped = s.cnt - 1, s.len - tonumber(len), s.soft - 1, s.dropped + 1
  end
end

-- Begins an epoch of the log above its own and another that somebody has seen.
local function raise(s, seen)
  local key = K .. ':t:' .. s.name
  local packed = redis.call('HGET', key, 'rises')
  local rises = packed and cmsgpack.unpack(packed) or {}
  if #rises >= 32 then
    -- The two oldest become one, with the lower end.
    rises[4] = math.min(rises[2], rises[4])
    table.remove(rises, 1)
    table.remove(rises, 1)
  end
  table.insert(rises, s.ep)
  table.insert(rises, s.seq)
  s.ep = math.max(s.ep, seen) + 1
  redis.call('HSET', key, 'ep', int(s.ep), 'rises', cmsgpack.pack(rises))
end

-- Ends the last asking of a call.
local function forget(call)
  local key = K .. ':c:' .. call
  for i = 1, tonumber(redis.call('HGET', key, 'na') or 0) do
    local ask = redis.call('HGET', key, 'i:' .. i)
    redis.call('HDEL', K .. ':m', 'q:' .. ask)
    redis.call('HDEL', key, 'i:' .. i, 'a:' .. i, 'g:' .. i, 'r:' .. i)
  end
  redis.call('HDEL', key, 'na', 'miss')
end

-- Forgets the open URL elicitations of a call.
local function closeall(call)
  local key = K .. ':c:' .. call
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 2) == 'o:' then redis.call('HDEL', key, field) end
  end
end

-- Begins a write: nil when it is one to apply, else what the script returns.
local function fence(stream, call, epoch, n)
  local c = redis.call('HMGET', K .. ':c:' .. call, 'st', 'ep', 'n', 'hd', 'ph')
  if not redis.call('HGET', K .. ':m', 'c:' .. call) or c[1] ~= stream or lapsed(stream)
    or redis.call('EXISTS', K .. ':t:' .. stream) == 0 then
    return { 'missing' }
  end
  local last = tonumber(c[3])
  if tonumber(c[2]) ~= epoch then return { 'fenced', 'epoch ' .. int(epoch) .. " is not the call's, which is " .. c[2] } end
  if n <= last then return { 'ok', 0, 0 } end
  if c[4] ~= '1' or c[5] == DONE then return { 'fenced', 'the lease has ended' } end
  if n > last + 1 then
    raise(loadstream(stream), 0)
    return { 'rollback', 'write ' .. int(n) .. ' does not follow the last one, ' .. c[3] }
  end
  return nil
end

-- Gives a call to this replica; nonce tells a repetition of the same attempt. Returns the claim.
local function claim(call, phase, nonce)
  local key = K .. ':c:' .. call
  redis.call('HINCRBY', key, 'ep', 1)
  redis.call('HSET', key, 'ow', me, 'hd', 1, 'n', 0, 'nonce', nonce, 'found', phase)
  local r = { phase, redis.call('HGET', K, 'rec'), call, redis.call('HGETALL', key) }
  if phase == WAITING then forget(call) end
  keepstream(redis.call('HGET', key, 'st'), call)
  return r
end
