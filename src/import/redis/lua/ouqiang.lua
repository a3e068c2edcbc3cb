-- ouqiang/delay-queue. KEYS[2..]: its buckets. ARGV[4]: 1 if its server is stopped; ARGV[5]: now, in seconds.
-- Of each job: its id, the list of its topic, the SHA-1 of its value, its due time in seconds.
-- While the server runs, a job that is due in a bucket may be on its way into its list, and from there to a consumer, before it leaves
-- the bucket: it is left alone. One whose time in the bucket is later than its due time is held by a consumer.
local function take(at)
  local id, stopped, least = ARGV[at], ARGV[4] == '1', nil
  local value = redis.pcall('GET', id)
  if type(value) ~= 'string' or redis.sha1hex(value) ~= ARGV[at + 2] then return false end
  for nth = 2, #KEYS do
    local score = tonumber(redis.call('ZSCORE', KEYS[nth], id) or nil)
    if score and (not least or score < least) then least = score end
  end
  local waits = redis.call('LREM', ARGV[at + 1], 0, id) > 0
  local rests = least and least >= tonumber(ARGV[5]) + 5 and least <= tonumber(ARGV[at + 3])
  if not (stopped or waits or rests) then return false end
  for nth = 2, #KEYS do redis.call('ZREM', KEYS[nth], id) end
  redis.call('DEL', id)
  return true
end
