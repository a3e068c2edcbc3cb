-- Jobs of a list are pushed. KEYS[1]: the list. ARGV: its number; then the places of those that the queue has refused, which stay.
-- A line keeps its place, and so its number, until the whole list goes. Returns how many stay.
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
local refused, done, stays = {}, {}, 0
for at = 2, #ARGV do refused[tonumber(ARGV[at])] = true end
for place = 1, redis.call('LLEN', KEYS[1]) - 1 do
  if redis.call('LINDEX', KEYS[1], place) ~= '' then
    if refused[place] then stays = stays + 1 else done[#done + 1] = place end
  end
end
if stays == 0 then
  redis.call('DEL', KEYS[1])
else
  for _, place in ipairs(done) do redis.call('LSET', KEYS[1], place, '') end
end
return stays
