-- Removes stale entries from a bucket, except for young ones, whose streams may not have begun yet.
-- KEYS[1]: the bucket. ARGV: the age in ms from which an entry is stale, members.
local gone = 0
for i = 2, #ARGV do
  local since = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if since and now - tonumber(since) >= tonumber(ARGV[1]) then
    gone = gone + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return gone
