-- Deletes the fixture's entities, each once, and stops when they are gone. One thread ("threads" of the config).
local POOL = 10000

function init(args)
  at = 0
  trial = true  -- wrk asks once for a request that it does not send
end

function request()
  if at >= POOL then
    wrk.thread:stop()
    return wrk.format("GET", "/version")
  end
  local path = "/ngsi-ld/v1/entities/urn:ngsi-ld:Room:" .. at + 1
  if trial then trial = false else at = at + 1 end
  return wrk.format("DELETE", path)
end
