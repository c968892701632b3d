-- Has the index's entries of streams that wait be looked at later, but for those that were indexed again meanwhile. KEYS[1]: the
-- bucket. ARGV: members, each with the score that it was found with, and the time in ms from when it is looked at again.
for i = 1, #ARGV, 3 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i]) end
end
return 1
