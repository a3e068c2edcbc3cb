-- ouqiang/delay-queue. KEYS[2]: the list where its ids wait, or '' for other places; then its buckets. ARGV[4]: 1 if its server is stopped.
-- Of each job: its id, the SHA-1 of its value, its due time in seconds.
-- While the server runs, a job that is due in a bucket may be on its way into a list, and from there to a consumer, before it leaves the
-- bucket: it is left alone. One whose time in the bucket is later than its due time is held by a consumer.
if redis.replicate_commands then redis.replicate_commands() end
local now = tonumber(redis.call('TIME')[1])
local function take(at)
  local id, least = ARGV[at], nil
  local value = redis.pcall('GET', id)
  if type(value) ~= 'string' or redis.sha1hex(value) ~= ARGV[at + 1] then return false end
  for nth = 3, #KEYS do
    local score = tonumber(redis.call('ZSCORE', KEYS[nth], id) or nil)
    if score and (not least or score < least) then least = score end
  end
  if KEYS[2] ~= '' then
    if redis.call('LREM', KEYS[2], 1, id) == 0 then return false end
  elseif ARGV[4] ~= '1' and not (least and least >= now + 5 and least <= tonumber(ARGV[at + 2])) then
    return false
  end
  for nth = 3, #KEYS do redis.call('ZREM', KEYS[nth], id) end
  redis.call('DEL', id)
  return true
end
