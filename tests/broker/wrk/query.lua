-- Queries with a limit. Optional argument: the limit (default 20).
function init(args)
  path = "/entities?limit=" .. (tonumber(args[1]) or 20)
end

function request()
  return wrk.format("GET", path)
end
