-- Common code of the scripts on records; it follows log.lua.
--
-- The map :m has  s:<stream> -> its calls   c:<call> -> its stream
--                  r:<request id> -> call    q:<request to the client> -> "place call"
--                  z:<stream> -> the bytes of its log, once it is finished
-- The record :c:<call> of a call has
--   v its layout   st its stream   bt how many calls share that, 0: it is alone   b what does not change, as codec.request has it
--   dl its deadline in ms, or 0   len the bytes that it counts, and kept those of its state and its answers
--   ep epoch   n the last step   sp Start   la Last   ph phase   ow owner   hd 1: the lease is in force   cl when it was claimed
--   rd at lp round, attempt, lapses   pr highest progress   cx 1: cancelled, cb by whom   sv state   o:<key> an open URL elicitation
--   rs 1: the round may be run again from sv   br the summary of its log
--   na number of asks   miss those without an answer   and of each: i: id, a: record, g: message, r: answer, t: its token
--   he hs the last of its entries in the log of a batch, as its writer counts   rv the last Restore that changed it
-- A stream :t:<stream> has, beside what log.lua says, bt, tr, the trace of its first call, and sg: where epochs begin in
-- its log, as epoch, number before its first entry, epoch, number ...
local LAYOUT = '1'

local function following(epoch, drawn) return math.min(counter(epoch) + 1, 1048575) * 4294967296 + tonumber(drawn) end

-- Assigns an epoch to the next entries of a log.
local function under(s, epoch)
  local g = s.segments
  s.ep = epoch
  if g[#g - 1] ~= epoch then
    table.insert(g, epoch)
    table.insert(g, s.seq)
  end
end

local function savelog(s, ...) savestream(s, 'sg', cmsgpack.pack(s.segments), ...) end

-- Removes the asks of a call, so that late answers are refused.
local function forget(call, count)
  local key = K .. ':c:' .. call
  for i = 1, count do
    local ask = 'q:' .. redis.call('HGET', key, 'i:' .. i)
    local where = redis.call('HGET', K .. ':m', ask)
    if where and string.match(where, '^%d+ (.*)$') == call then redis.call('HDEL', K .. ':m', ask) end
    redis.call('HDEL', key, 'i:' .. i, 'a:' .. i, 'g:' .. i, 'r:' .. i, 't:' .. i)
  end
end

-- Removes the open URL elicitations of a call.
local function closeall(call)
  local key = K .. ':c:' .. call
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 2) == 'o:' then redis.call('HDEL', key, field) end
  end
end

-- Reports whether a call waits for the answer to a question.
local function waits(where)
  local i, call = string.match(where, '^(%d+) (.*)$')
  local c = redis.call('HMGET', K .. ':c:' .. call, 'ph', 'r:' .. i)
  return c[1] == WAITING and not c[2], call
end

-- Returns the data of a call for its owner.
local function owned(call) return record(), call, redis.call('HGETALL', K .. ':c:' .. call) end

-- Returns the head of a value that the owner of a call receives and that is sealed with a key that the
-- replica lacks, which then must not own the call, or nil. heads are those of the replica's keys,
-- joined: see seal.go.
local function foreign(heads, call)
  local function lacks(value)
    if not value or string.sub(value, 1, 4) ~= '\193sl\1' then return nil end
    local head = string.sub(value, 1, 8)
    for j = 1, #heads, 8 do
      if string.sub(heads, j, j + 7) == head then return nil end
    end
    return head
  end
  local rec, _, fields = owned(call)
  for _, list in ipairs({ { rec[1] }, rec[3], fields }) do
    for _, value in ipairs(list) do
      local head = lacks(value)
      if head then return head end
    end
  end
  return nil
end

-- Reports whether this replica owns a call by a claim with these random bits, and has written
-- nothing since.
local function claimed(call, random)
  local c = redis.call('HMGET', K .. ':c:' .. call, 'ow', 'hd', 'ep', 'n')
  return c[1] == me and c[2] == '1' and tonumber(c[3]) % 4294967296 == tonumber(random) and c[4] == '0'
end

-- Assigns a call to this replica, and makes sweeps check its stream from now on. cancel is false, or by
-- whom the call was cancelled, '' if that is unknown. bucket is the index, if it is on this server, and
-- session the session as in the index's entries.
local function claim(call, random, lapsed, cancel, bucket, session)
  local key = K .. ':c:' .. call
  local c = redis.call('HMGET', key, 'ep', 'la', 'ph', 'miss', 'st', 'bt', 'cx')
  redis.call('HSET', key, 'ep', int(following(tonumber(c[1]), random)), 'n', 0, 'sp', c[2], 'ow', me, 'hd', 1, 'cl', int(now))
  if cancel then
    redis.call('HSET', key, 'cx', 1)
    if cancel ~= '' then redis.call('HSETNX', key, 'cb', cancel) end
  end
  if c[3] == WAITING and tonumber(c[4]) == 0 then
    redis.call('HSET', key, 'ph', READY, 'at', 1, 'lp', 0)
    redis.call('HINCRBY', key, 'rd', 1)
  elseif c[3] == WAITING and (cancel or c[7] == '1') then
    redis.call('HSET', key, 'ph', READY) -- It has an owner, which ends it.
  elseif c[3] == DISPATCHED then
    redis.call('HINCRBY', key, 'at', 1)
    if lapsed then redis.call('HINCRBY', key, 'lp', 1) end
  end
  if c[6] ~= '0' then
    local epoch = tonumber(redis.call('HGET', K .. ':t:' .. c[5], 'ep'))
    redis.call('HSET', K .. ':t:' .. c[5], 'ep', int(following(epoch, random)))
  elseif tonumber(c[2]) > tonumber(redis.call('HGET', K .. ':t:' .. c[5], 'seq') or 0) then
    -- The previous owner may have assigned numbers whose entries were lost: the new epoch begins
    -- after them.
    redis.call('HSET', K .. ':t:' .. c[5], 'seq', c[2])
  end
  keepstream(c[5], call)
  if bucket then redis.call('ZADD', bucket, string.format('%.3f', clock[1] * 1000 + clock[2] / 1000), session .. c[5]) end
end

-- Extends the expiry of the map, which may be new.
local function keepmap()
  redis.call('PEXPIREAT', K .. ':m', int(math.max(sess.aux, sess.kp, now + math.max(lease, renewal, ttl))))
end

-- Ends a stream whose calls are all done. bucket is the index, if it is on this server, and member
-- the stream's entry. The keys of the stream and of its calls remain for replays.
local function finish(s, calls, bucket, member)
  sess.open = math.max(sess.open - 1, 0)
  redis.call('HSET', K .. ':m', 'z:' .. s.name, int(s.len))
  -- The score has microseconds, because the oldest streams are deleted first.
  redis.call('ZADD', K .. ':e', string.format('%.3f', clock[1] * 1000 + clock[2] / 1000), s.name)
  local till, kept = int(math.max(now + logttl, sess.kp) + 1), redis.call('ZCARD', K .. ':e')
  for i = 1, #calls, 2 do redis.call('PEXPIREAT', K .. ':c:' .. calls[i], till) end
  for _, k in ipairs(streamkeys(s.name)) do redis.call('PEXPIREAT', k, till) end
  if kept == 1 then
    redis.call('PEXPIREAT', K .. ':e', int(math.max(sess.aux, sess.kp, now + ttl)))
    if sess.open == 0 then keepmap() end
  end
  if kept > maxstreams then
    for _, old in ipairs(redis.call('ZRANGE', K .. ':e', 0, kept - maxstreams - 1)) do dropstream(old) end
  end
  if bucket then redis.call('ZREM', bucket, member) end
end
