-- What the scripts that work on calls and logs share, behind lib.lua. Scripts that only load or touch a
-- session do without: they are by far the most frequent.
local READY, DISPATCHED, WAITING, DONE = '1', '2', '3', '4'

-- Tells the other replicas that follow a stream, or any if it is nil, that its log changed.
local function wake(stream)
  local told, own = {}, me .. ' '
  for _, m in ipairs(redis.call('ZRANGE', K .. ':f', 0, -1)) do
    if string.sub(m, 1, #own) ~= own then
      local replica, name = string.match(m, '^(%S+) %S+ (.*)$')
      if (stream == nil or name == stream) and not told[replica .. ' ' .. name] then
        told[replica .. ' ' .. name] = true
        redis.call('PUBLISH', inbox .. replica, 'w' .. #K .. ':' .. K .. name)
      end
    end
  end
end

-- The calls of a stream, as callsof has them. One that can no longer be replayed is forgotten.
local function standing(stream)
  local calls = callsof(stream)
  if not calls or not lapsed(stream) then return calls end
  dropstream(stream)
  return nil
end

local function loadstream(stream)
  local v = redis.call('HMGET', K .. ':t:' .. stream, 'ep', 'seq', 'cnt', 'len', 'soft', 'unf', 'floor')
  if not v[1] then return nil end
  return { name = stream, ep = tonumber(v[1]), seq = tonumber(v[2]), cnt = tonumber(v[3]),
    len = tonumber(v[4]), soft = tonumber(v[5]), unf = tonumber(v[6]), floor = tonumber(v[7] or 0), dropped = 0, added = 0 }
end

-- Writes the stream's counters, and other fields given.
local function savestream(s, ...)
  redis.call('HSET', K .. ':t:' .. s.name, 'ep', int(s.ep), 'seq', int(s.seq), 'cnt', s.cnt, 'len', int(s.len),
    'soft', s.soft, 'unf', s.unf, 'floor', int(s.floor), ...)
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

-- A log is a Redis stream. What may be dropped is kept in chunks: entries that were written together, under
-- the number of the last of them, as "s" and what packChunk made of them. Other entries are kept one by one, as
-- "k", kind, "d", data. Of the droppable entries those up to the stream's floor are gone, wherever they stand.

-- Drops the oldest droppable entries for as long as over says so and there are any.
local function shed(s, over)
  local log = K .. ':l:' .. s.name
  local from = '(' .. int(s.floor) .. '-0'
  while s.soft > 0 and over(s) do
    local chunks = redis.call('XRANGE', log, from, '+', 'COUNT', 8)
    if #chunks == 0 then s.soft = 0 end
    for _, chunk in ipairs(chunks) do
      from = '(' .. chunk[1]
      if chunk[2][1] == 's' then
        local last, e = tonumber(string.match(chunk[1], '^%d+')), cmsgpack.unpack(chunk[2][2])
        for i = 2, #e, 3 do
          local seq = last - (#e - 1 - i) / 3
          if seq > s.floor then
            if not over(s) then return end
            s.cnt, s.len, s.soft, s.dropped = s.cnt - 1, s.len - #e[i], s.soft - 1, s.dropped + 1
            s.floor, total = seq, total - #e[i]
          end
        end
        redis.call('XDEL', log, chunk[1])
      end
    end
  end
end

local function grow(s, count, bytes)
  s.added = s.added + count
  s.seq, s.cnt, s.len, total = s.seq + count, s.cnt + count, s.len + bytes, total + bytes
end

-- Appends an entry that is kept; bound must follow.
local function add(s, kind, data)
  grow(s, 1, #data)
  redis.call('XADD', K .. ':l:' .. s.name, int(s.seq) .. '-0', 'k', kind, 'd', data)
end

local function full(s) return s.cnt > maxevents or s.len > maxbytes end
local function crowded() return not room(0) end

-- Holds the bounds on the log, then on the session, by dropping the oldest entries that may be dropped.
local function bound(s)
  shed(s, full)
  if crowded() then shed(s, crowded) end
end

-- Makes room for so many bytes more, at the cost of the stream's droppable entries too; false when there is none.
local function makeroom(s, more)
  if more <= 0 or room(more) then return true end
  shed(s, function() return not room(more) end)
  savestream(s)
  return room(more)
end

-- Sets until when the log lives, if it is new.
local function keeplog(s)
  if s.added > 0 and s.seq == s.added then
    redis.call('PEXPIRE', K .. ':l:' .. s.name, math.max(redis.call('PTTL', K .. ':t:' .. s.name), 1))
  end
end

-- Appends what packEntries made, if anything. Returns the highest progress, given that so far or nil.
local function addall(s, call, packed, highest)
  local e = packed ~= '' and cmsgpack.unpack(packed) or {}
  for i = 1, #e, 5 do
    local kind, data, count, progress = e[i], e[i + 1], e[i + 2], e[i + 4]
    if progress ~= '' and (not highest or tonumber(progress) > tonumber(highest)) then highest = progress end
    if kind == 's' then
      grow(s, count, e[i + 3])
      s.soft = s.soft + count
      redis.call('XADD', K .. ':l:' .. s.name, int(s.seq) .. '-0', 's', data)
    elseif kind == 'x' then
      s.dropped = s.dropped + count
    elseif kind == 'o' then
      redis.call('HDEL', K .. ':c:' .. call, 'o:' .. data)
    else
      add(s, kind, data)
    end
  end
  return highest
end

-- Makes a stream the last of the finished ones: its keys, and those of its calls, live on for replays. Returns
-- how many there are.
local function retire(s, calls)
  -- To the microsecond: the oldest are forgotten first.
  redis.call('ZADD', K .. ':e', string.format('%.3f', clock[1] * 1000 + clock[2] / 1000), s.name)
  local till, kept = int(now + logttl + 1), redis.call('ZCARD', K .. ':e')
  for i = 1, #calls, 2 do redis.call('PEXPIREAT', K .. ':c:' .. calls[i], till) end
  for _, k in ipairs(streamkeys(s.name)) do redis.call('PEXPIREAT', k, till) end
  if kept == 1 then redis.call('PEXPIREAT', K .. ':e', int(math.max(sess.aux, now + ttl))) end
  if kept > maxstreams then
    for _, old in ipairs(redis.call('ZRANGE', K .. ':e', 0, kept - maxstreams - 1)) do dropstream(old) end
  end
  return kept
end

-- An epoch is a counter above 32 random bits (see state.NextEpoch): one number of 52 bits, which a double holds exactly.
local function counter(epoch) return math.floor(epoch / 4294967296) end
local function following(epoch, drawn) return math.min(counter(epoch) + 1, 1048575) * 4294967296 + tonumber(drawn) end

-- Begins an epoch of a log. What it has of those before is epoch, last number, epoch, last number ...
local function beginepoch(stream, drawn)
  local key = K .. ':t:' .. stream
  local s = redis.call('HMGET', key, 'ep', 'seq', 'rises')
  if not s[1] then return end
  local past = s[3] and cmsgpack.unpack(s[3]) or {}
  if #past >= 128 then
    table.remove(past, 1)
    table.remove(past, 1)
  end
  table.insert(past, tonumber(s[1]))
  table.insert(past, tonumber(s[2]))
  redis.call('HSET', key, 'ep', int(following(tonumber(s[1]), drawn)), 'rises', cmsgpack.pack(past))
end

-- Takes no more answers to the last asking of a call. Returns how many asks it had.
local function unask(call)
  local key = K .. ':c:' .. call
  local count = tonumber(redis.call('HGET', key, 'na') or 0)
  for i = 1, count do
    local ask = 'q:' .. redis.call('HGET', key, 'i:' .. i)
    if redis.call('HGET', K .. ':m', ask) == i .. ' ' .. call then redis.call('HDEL', K .. ':m', ask) end
  end
  return count
end

-- Ends the last asking of a call.
local function forget(call)
  local key, count = K .. ':c:' .. call, unask(call)
  if count == 0 then return end
  for i = 1, count do redis.call('HDEL', key, 'i:' .. i, 'a:' .. i, 'g:' .. i, 'r:' .. i, 't:' .. i) end
  redis.call('HDEL', key, 'na', 'miss')
end

-- Forgets the open URL elicitations of a call.
local function closeall(call)
  local key = K .. ':c:' .. call
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 2) == 'o:' then redis.call('HDEL', key, field) end
  end
end

-- Begins a write: what the script returns, unless it is one to apply; then nil, the stream and the call's
-- deadline, bytes of it, of its state and answers, number of asks and highest progress.
local function fence(stream, call, epoch, n)
  local c = redis.call('HMGET', K .. ':c:' .. call, 'st', 'ep', 'n', 'hd', 'ph', 'ow', 'dl', 'len', 'na', 'pr', 'kept')
  local s = c[1] == stream and redis.call('HEXISTS', K .. ':m', 'c:' .. call) == 1 and loadstream(stream)
  if not s or s.unf == 0 and lapsed(stream) then return { 'missing' } end
  local last = tonumber(c[3])
  if epoch > tonumber(c[2]) then
    return { 'rollback', 'epoch ' .. int(epoch) .. " is ahead of the call's, which is " .. c[2] }
  end
  if epoch < tonumber(c[2]) then return { 'fenced', 'epoch ' .. int(epoch) .. " is not the call's, which is " .. c[2] } end
  -- After a failover another may have come to the same epoch.
  if c[6] and c[6] ~= me then return { 'fenced', 'the lease is of ' .. c[6] } end
  if n <= last then return { 'ok', 0, 0 } end
  if c[4] ~= '1' or c[5] == DONE then return { 'fenced', 'the lease has ended' } end
  if n > last + 1 then
    return { 'rollback', 'write ' .. int(n) .. ' does not follow the last one, ' .. c[3] }
  end
  return nil, s, { deadline = c[7], len = tonumber(c[8]), asks = tonumber(c[9] or 0), progress = c[10], kept = tonumber(c[11] or 0) }
end

-- What a claim gives.
local function owned(call)
  local key = K .. ':c:' .. call
  return redis.call('HGET', key, 'found'), record(), call, redis.call('HGETALL', key)
end

-- Whether the last claim of a call was made by this attempt, and nothing was written under it.
local function repeats(call, token)
  local c = redis.call('HMGET', K .. ':c:' .. call, 'tok', 'n', 'ow')
  return c[1] == token and c[2] == '0' and c[3] == me
end

-- Gives a call to this replica; token tells a repetition of the same attempt, drawn is the random part of its epoch.
-- The log begins an epoch too: the last owner may have written what is lost here, and no event id of that is given to
-- what the next one writes.
local function claim(call, phase, token, drawn)
  local key = K .. ':c:' .. call
  local c = redis.call('HMGET', key, 'ep', 'st')
  redis.call('HSET', key, 'ep', int(following(tonumber(c[1]), drawn)), 'ow', me, 'hd', 1, 'n', 0, 'tok', token, 'found', phase,
    'cl', int(now))
  if phase == WAITING then unask(call) end
  beginepoch(c[2], drawn)
  keepstream(c[2], call)
end
