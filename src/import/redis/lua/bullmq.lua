-- BullMQ and Bull. KEYS[2]: a sorted set or a list of ids. ARGV[4]: what stands before an id in the name of its hash; ARGV[5]: 'set',
-- 'list', or 'active' for the list of those that workers have. Of each job: its id, its score, the SHA-1 of its data.
local function take(at)
  local prefix, kind, id = ARGV[4], ARGV[5], ARGV[at]
  local key = prefix .. id
  local data = redis.call('HGET', key, 'data')
  if not data or redis.sha1hex(data) ~= ARGV[at + 2] then return false end
  if kind == 'set' then
    if redis.call('ZSCORE', KEYS[2], id) ~= ARGV[at + 1] then return false end
    redis.call('ZREM', KEYS[2], id)
  else
    -- Its worker lives as long as it keeps the lock.
    if kind == 'active' and redis.call('EXISTS', key .. ':lock') == 1 then return false end
    if redis.call('LREM', KEYS[2], -1, id) == 0 then return false end
  end
  return true
end
local function clean(at)
  local prefix, id = ARGV[4], ARGV[at]
  local key = prefix .. id
  redis.pcall('SREM', prefix .. 'stalled', id)
  -- Bull alone has this one.
  redis.pcall('ZREM', prefix .. 'priority', id)
  local deduplication = redis.call('HGET', key, 'deid')
  if deduplication then
    local owner = redis.pcall('GET', prefix .. 'de:' .. deduplication)
    if owner == id then redis.call('DEL', prefix .. 'de:' .. deduplication) end
  end
  redis.call('DEL', key, key .. ':logs', key .. ':failed', key .. ':unsuccessful')
end
