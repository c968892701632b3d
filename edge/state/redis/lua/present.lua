-- Records the presence of a replica and returns the number of present ones. KEYS[1]: the replicas,
-- scored by the times of their last records in ms. ARGV: the replica, and the time for which a
-- record is valid in ms.
redis.call('ZADD', KEYS[1], int(now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
