-- Says that a replica is there and counts those that are. KEYS[1]: the replicas, each with when it said so in ms. ARGV:
-- the replica, for how many ms it is believed.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function int(n) return string.format('%.0f', n) end
redis.call('ZADD', KEYS[1], int(now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
