-- Delays the next check of waiting streams in the index, except for those that were indexed again
-- since. KEYS[1]: the bucket. ARGV: for each member: its name, the score that was read, and the
-- delay in ms.
for i = 1, #ARGV, 3 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i]) end
end
return 1
