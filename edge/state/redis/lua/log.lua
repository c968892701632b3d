-- Common code of the scripts on calls and logs; it follows lib.lua. Scripts that only load or touch
-- a session, by far the most frequent ones, do not include it.

-- Notifies the other replicas that follow a stream, or any stream if it is nil, of a change of its
-- log.
local function wake(stream)
  local notified, own = {}, me .. ' '
  for _, m in ipairs(redis.call('ZRANGE', K .. ':f', 0, -1)) do
    if string.sub(m, 1, #own) ~= own then
      local replica, name = string.match(m, '^(%S+) %S+ (.*)$')
      if (stream == nil or name == stream) and not notified[replica .. ' ' .. name] then
        notified[replica .. ' ' .. name] = true
        redis.call('PUBLISH', inbox .. replica, 'w' .. #K .. ':' .. K .. name)
      end
    end
  end
end

-- Returns the calls of a stream as callsof does. A stream that can no longer be replayed is
-- deleted.
local function standing(stream)
  local calls = callsof(stream)
  if not calls or not lapsed(stream) then return calls end
  dropstream(stream)
  return nil
end

local function loadstream(stream)
  local v = redis.call('HMGET', K .. ':t:' .. stream, 'ep', 'seq', 'cnt', 'len', 'soft', 'unf', 'floor', 'bt', 'sg')
  if not v[1] then return nil end
  return { name = stream, ep = tonumber(v[1]), seq = tonumber(v[2]), cnt = tonumber(v[3]), had = tonumber(v[3]),
    len = tonumber(v[4]), soft = tonumber(v[5]), unf = tonumber(v[6]), floor = tonumber(v[7] or 0), dropped = 0, added = 0,
    batch = tonumber(v[8] or 0), segments = v[9] and cmsgpack.unpack(v[9]) or {} }
end

-- Writes the stream's counters, and further fields.
local function savestream(s, ...)
  redis.call('HSET', K .. ':t:' .. s.name, 'ep', int(s.ep), 'seq', int(s.seq), 'cnt', s.cnt, 'len', int(s.len),
    'soft', s.soft, 'unf', s.unf, 'floor', int(s.floor), ...)
end

-- Sets the expiry of the keys of an unfinished stream and of one of its calls.
local function keepstream(stream, call)
  local deadline = tonumber(redis.call('HGET', K .. ':c:' .. call, 'dl') or 0)
  local till = (deadline > 0 and math.max(deadline, now) or now + endless) + ttl
  redis.call('PEXPIREAT', K .. ':c:' .. call, int(till))
  for _, key in ipairs(streamkeys(stream)) do
    -- The stream expires with the last of its calls.
    if redis.call('PTTL', key) < till - now then redis.call('PEXPIREAT', key, int(till)) end
  end
end

-- A log is a Redis stream. Droppable entries are stored in chunks of entries written together,
-- under the number of the last one, as "s" and the result of packChunk. Other entries are stored
-- individually, as "k", kind, "d", data. Droppable entries up to the stream's floor count as
-- dropped, wherever they are stored.

-- Drops the oldest droppable entries while over returns true.
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

-- Appends an entry that is not droppable. The caller must call bound afterwards.
local function add(s, kind, data)
  grow(s, 1, #data)
  redis.call('XADD', K .. ':l:' .. s.name, int(s.seq) .. '-0', 'k', kind, 'd', data)
end

local function full(s) return s.cnt > maxevents or s.len > maxbytes end
local function crowded() return not room(0) end

-- Enforces the bounds of the log, then of the session, by dropping the oldest droppable entries.
local function bound(s)
  shed(s, full)
  if crowded() then shed(s, crowded) end
end

-- Drops the oldest droppable entries while the session keeps more than afford has borrowed.
local function spare(s)
  local function owes() return total > sess.lent end
  if sess.account ~= '' and owes() then shed(s, owes) end
end

-- Makes room for more bytes, if necessary by dropping entries of the stream. Returns false if that
-- is not sufficient.
local function makeroom(s, more)
  if more <= 0 or room(more) then return true end
  shed(s, function() return not room(more) end)
  savestream(s)
  return room(more)
end

-- Sets the expiry of the log, if it may be new.
local function keeplog(s)
  if s.added > 0 and s.had == 0 then
    redis.call('PEXPIRE', K .. ':l:' .. s.name, math.max(redis.call('PTTL', K .. ':t:' .. s.name), 1))
  end
end

-- Appends the result of packEntries, if any. Returns the highest progress including the given one,
-- or nil.
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
      if s.placed then s.seq = s.seq + count end
    elseif kind == 'o' then
      redis.call('HDEL', K .. ':c:' .. call, 'o:' .. data)
    else
      add(s, kind, data)
    end
  end
  return highest
end

-- Returns the number of owners in an epoch (see state.Epoch).
local function counter(epoch) return math.floor(epoch / 4294967296) end
