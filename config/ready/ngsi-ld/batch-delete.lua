-- Deletes the fixture's entities, 20 in a request, and stops when they are gone. One thread ("threads" of the config).
local POOL = 10000

function init(args)
  at = 0
  trial = true  -- wrk asks once for a request that it does not send
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  if at + 20 > POOL then
    wrk.thread:stop()
    return wrk.format("GET", "/version")
  end
  local ids = {}
  for i = 1, 20 do ids[i] = '"urn:ngsi-ld:Room:' .. at + i .. '"' end
  if trial then trial = false else at = at + 20 end
  return wrk.format("POST", "/ngsi-ld/v1/entityOperations/delete", headers, "[" .. table.concat(ids, ",") .. "]")
end
