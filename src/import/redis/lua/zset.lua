-- A sorted set. KEYS[2]: it; KEYS[3], if there is one: the hash that has the bodies.
-- Of each job: its member, its score and, with a hash, the SHA-1 of its body.
local function take(at)
  local member = ARGV[at]
  if redis.call('ZSCORE', KEYS[2], member) ~= ARGV[at + 1] then return false end
  if KEYS[3] then
    local body = redis.call('HGET', KEYS[3], member)
    if not body or redis.sha1hex(body) ~= ARGV[at + 2] then return false end
  end
  return redis.call('ZREM', KEYS[2], member) == 1
end
local function clean(at)
  if KEYS[3] then redis.call('HDEL', KEYS[3], ARGV[at]) end
end
