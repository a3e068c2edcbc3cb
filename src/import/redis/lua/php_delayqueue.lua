-- php-delayqueue. KEYS[2]: the hash of bodies; KEYS[3]: the place; then the sorted sets. ARGV[4]: 'zset', 'list' or 'hash': what the place
-- is. A job that is in the hash alone is held by nobody if its programs are stopped. Of each job: its name, the SHA-1 of its body.
local function take(at)
  local name = ARGV[at]
  local body = redis.call('HGET', KEYS[2], name)
  if not body or redis.sha1hex(body) ~= ARGV[at + 1] then return false end
  if ARGV[4] == 'zset' and redis.call('ZREM', KEYS[3], name) == 0 then return false end
  -- A job that stands in a sorted set waits for its time.
  if ARGV[4] == 'hash' then
    for nth = 4, #KEYS do
      if redis.call('ZSCORE', KEYS[nth], name) then return false end
    end
  end
  if ARGV[4] == 'list' and redis.call('LREM', KEYS[3], 1, name) == 0 then return false end
  redis.call('HDEL', KEYS[2], name)
  for nth = 4, #KEYS do redis.pcall('ZREM', KEYS[nth], name) end
  redis.call('DEL', 'lock:' .. name)
  return true
end
