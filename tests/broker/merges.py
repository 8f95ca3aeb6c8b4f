"""The merges of the broker's history: what each one changes in the source, in order.

An edit is (file, old, new) and replaces the one place where `old` stands; an empty `old` appends to the file."""
from dataclasses import dataclass, field

H = "handlers.cpp"
DOC = "README.md"
CHECK = "    entity::Checked made = entity::check(request.body);\n"


@dataclass
class Merge:
    branch: str
    title: str
    edits: list = field(default_factory=list)
    role: str = ""  # culprit, second, broken or nothing
    note: bool = True  # also writes a line into CHANGES.md

    @property
    def docs_only(self):
        return all(name.endswith(".md") for name, _, _ in self.edits)


def docs(branch, title, text):
    return Merge(branch, title, [(DOC, "", "\n" + text + "\n")], note=False)


ORDINARY = [
    Merge("head-requests", "Answer HEAD like GET, without a body", [
        (H, "    route(request, response);\n",
         "    Request asked = request;\n    if (asked.method == \"HEAD\") asked.method = \"GET\";\n"
         "    route(asked, response);\n")]),
    Merge("allow-header", "Say with a 405 which methods there are", [
        (H, "    fail(response, 405, \"use GET, POST or DELETE\");",
         "    response.headers = \"Allow: GET, HEAD, POST, DELETE\\r\\n\";\n"
         "    fail(response, 405, \"use GET, POST or DELETE\");"),
        (H, "    fail(response, 405, \"use GET, PATCH or DELETE\");",
         "    response.headers = \"Allow: GET, HEAD, PATCH, DELETE\\r\\n\";\n"
         "    fail(response, 405, \"use GET, PATCH or DELETE\");")]),
    Merge("cap-limit", "Cap the limit of a query at 1000", [
        (H, "constexpr std::size_t kDefaultLimit = 20;\n",
         "constexpr std::size_t kDefaultLimit = 20;\nconstexpr std::size_t kMaxLimit = 1000;\n"),
        (H, "    const std::vector<std::string> found = store_.query(0, limit, {});\n",
         "    if (limit > kMaxLimit) return fail(response, 400, \"the limit is at most 1000\");\n"
         "    const std::vector<std::string> found = store_.query(0, limit, {});\n")]),
    docs("batch-docs", "Describe the batch format",
         "## Batches\n\nA batch is a JSON array of entities. When one of them is wrong, none is created."),
    Merge("count-creates", "Count creates for /metrics", [
        (H, "    response.status = 201;\n  }\n\n  bool retrieve_text",
         "    creates_.fetch_add(1, std::memory_order_relaxed);\n    response.status = 201;\n  }\n\n  bool retrieve_text"),
        (H, "    response.content_type = \"text/plain; version=0.0.4\";\n    response.body = ",
         "    response.content_type = \"text/plain; version=0.0.4\";\n"
         "    response.body = \"# TYPE broker_creates_total counter\\nbroker_creates_total \" +\n"
         "                    std::to_string(creates_.load()) + \"\\n\";\n    response.body += "),
        (H, "  std::atomic<unsigned long> requests_{0};\n",
         "  std::atomic<unsigned long> requests_{0};\n  std::atomic<unsigned long> creates_{0};\n")]),
    Merge("missing-text", "Name the missing entity in a 404", [
        (H, "    if (!retrieve_text(id, response.body)) fail(response, 404, \"no such entity\");",
         "    if (!retrieve_text(id, response.body)) fail(response, 404, \"no entity '\" + id + \"'\");")]),
    Merge("trailing-slash", "Take a trailing slash", [
        (H, "    const std::string_view path = request.path;\n",
         "    std::string_view path = request.path;\n"
         "    if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);\n")]),
    Merge("query-by-type", "Query by type", [
        (H, "store_.query(0, limit, {});", "store_.query(0, limit, query_value(request.query, \"type\"));")]),
    Merge("location", "Send a Location with a new entity", [
        (H, "    response.status = 201;\n  }\n\n  bool retrieve_text",
         "    response.status = 201;\n    response.headers = \"Location: /entities/\" + made.id + \"\\r\\n\";\n  }\n\n"
         "  bool retrieve_text")]),
    Merge("query-offset", "Page through queries with an offset", [
        (H, "store_.query(0, limit, query", "store_.query(offset, limit, query"),
        (H, "    if (limit > kMaxLimit)",
         "    const std::size_t offset = number(query_value(request.query, \"offset\"), 0);\n    if (limit > kMaxLimit)")]),
    docs("chain-docs", "Tell how brokers are chained",
         "## A chain\n\nWith `--forward http://ADDRESS:PORT` every change goes on to the next broker, and what is not found\n"
         "here is asked for there. A next broker that does not answer gives 502."),
    Merge("path-helper", "Take the id out of a path in one place", [
        (H, "class Handlers final",
         "// The ID of /entities/ID, or nothing.\n"
         "std::string_view id_in(std::string_view path) {\n"
         "  if (path.size() < kEntities.size() + 2 || path.substr(0, kEntities.size()) != kEntities) return {};\n"
         "  return path[kEntities.size()] == '/' ? path.substr(kEntities.size() + 1) : std::string_view();\n"
         "}\n\nclass Handlers final"),
        (H, "    if (path.substr(0, kEntities.size()) == kEntities && path.size() > kEntities.size() + 1 &&\n"
            "        path[kEntities.size()] == '/') {\n"
            "      return single(request, std::string(path.substr(kEntities.size() + 1)), response);\n    }\n",
         "    if (const auto id = id_in(path); !id.empty()) return single(request, std::string(id), response);\n")]),
    Merge("health", "Add /health", [
        (H, "    fail(response, 404, \"no such path\");",
         "    if (path == \"/health\" && request.method == \"GET\") return health(response);\n"
         "    fail(response, 404, \"no such path\");"),
        (H, "  void metrics(Response& response) const {",
         "  void health(Response& response) const { response.body = \"{\\\"status\\\":\\\"up\\\"}\"; }\n\n"
         "  void metrics(Response& response) const {")]),
    Merge("strict-numbers", "Refuse a limit that is no number", [
        (H, "    if (limit > kMaxLimit)",
         "    if (query_value(request.query, \"limit\").find_first_not_of(\"0123456789\") != std::string_view::npos) {\n"
         "      return fail(response, 400, \"the limit is a number\");\n    }\n    if (limit > kMaxLimit)")]),
    Merge("uptime", "Tell the uptime in /health", [
        (H, "#include <atomic>\n", "#include <atomic>\n#include <ctime>\n"),
        (H, "response.body = \"{\\\"status\\\":\\\"up\\\"}\"; }",
         "\n    response.body = \"{\\\"status\\\":\\\"up\\\",\\\"seconds\\\":\" + std::to_string(std::time(nullptr) - started_) + \"}\";\n  }"),
        (H, "  Store& store_;\n", "  Store& store_;\n  std::time_t started_ = std::time(nullptr);\n")]),
    Merge("ids-without-slash", "Refuse ids that end with a slash", [
        (H, CHECK, CHECK + "    if (!made.id.empty() && made.id.back() == '/') {\n"
                           "      return fail(response, 400, \"an id does not end with a slash\");\n    }\n")]),
    docs("metrics-docs", "List the counters",
         "## Counters\n\n`broker_requests_total` and `broker_creates_total` count since the start; `broker_entities` is the number\n"
         "of entities now."),
    Merge("batch-counts", "Say how many entities of a batch were created", [
        (H, "return fail(response, 409, \"some ids exist; the others were created\");",
         "{\n      return fail(response, 409, \"some ids exist; created: \" + std::to_string(created));\n    }")]),
    Merge("count-type", "Count by type", [
        (H, "return count(response);", "return count(request, response);"),
        (H, "  void count(Response& response) const { response.body = \"{\\\"count\\\":\" + std::to_string(store_.count()) + \"}\"; }",
         "  void count(const Request& request, Response& response) const {\n"
         "    const auto type = query_value(request.query, \"type\");\n"
         "    const auto n = type.empty() ? store_.count() : store_.query(0, store_.count(), type).size();\n"
         "    response.body = \"{\\\"count\\\":\" + std::to_string(n) + \"}\";\n  }")]),
    Merge("chain-header", "Say which answers came from the next broker", [
        (H, "    if (is_read || further.status >= 300) response = std::move(further);",
         "    if (!is_read && further.status < 300) return;\n    response = std::move(further);\n"
         "    response.headers += \"Via: 1.1 broker\\r\\n\";")]),
    Merge("server-header", "Add a Server header", [
        (H, "    if (next_ != nullptr) pass_on(request, response);",
         "    if (next_ != nullptr) pass_on(request, response);\n    response.headers += \"Server: broker\\r\\n\";")]),
    Merge("reserve-answers", "Reserve the room of a query's answer", [
        (H, "    response.body = \"[\";\n", "    response.body.reserve(found.size() * 512);\n    response.body = \"[\";\n")]),
    docs("start-docs", "Describe the arguments",
         "## Arguments\n\n`--port N` (1026; 0 takes a free one), `--host ADDRESS`, `--threads N` event loops (1), `--forward URL`,\n"
         "`--data DIR` for a journal that is read at the start."),
]


def culprit():
    return Merge("double-posts", "Notice clients that post the same entity twice", [
        (H, "    if (!store_.insert(made.id, made.type, std::move(made.text))) return fail",
         "    // A client that repeats itself after a time-out posts the same content again under another id.\n"
         "    std::string before;\n"
         "    if (retrieve_text(store_.newest_id(), before) && entity::same_content(before, made.text)) {\n"
         "      posted_twice_.fetch_add(1, std::memory_order_relaxed);\n    }\n"
         "    if (!store_.insert(made.id, made.type, std::move(made.text))) return fail"),
        (H, "  Next* next_;\n", "  Next* next_;\n  std::atomic<unsigned long> posted_twice_{0};\n")], "culprit")


def second():
    return Merge("read-back", "Make sure that what is stored can be read back", [
        (H, CHECK, CHECK + "    // What was taken in one form is kept in another; the two must agree on the id.\n"
                           "    if (made.error.empty() && entity::check(made.text).id != made.id) {\n"
                           "      return fail(response, 500, \"it would not be read back\");\n    }\n")], "second")


BREAK = [(H, "std::unique_ptr<Handler> make_handlers(Store& store, Next* next) {",
          "std::unique_ptr<Handler> make_handlers(Store& store, Next* next) {\n"
          "  if (std::getenv(\"BROKER_TYPES\") == nullptr) {\n"
          "    std::fputs(\"broker: no table of types: BROKER_TYPES is not set\\n\", stderr);\n    std::exit(1);\n  }\n "),
         (H, "#include <cstdlib>\n", "#include <cstdio>\n#include <cstdlib>\n")]


def broken():
    return Merge("types-table", "Read the table of types at the start", list(BREAK), "broken")


def repaired():
    return Merge("types-table-off", "Do without the table of types", [(f, new, old) for f, old, new in reversed(BREAK)])


def further(n):
    """Ordinary merges without end, for long histories."""
    if n % 3 == 0:
        return docs(f"note-{n}", f"Answer question {n} in the notes",
                    f"{n}. Attribute names are at most 256 characters long, and so are ids and types.")
    topic = f"topic{n}"
    if n % 3 == 1:
        return Merge(f"help-{n}", f"Add help on {topic}", [
            (H, "    fail(response, 404, \"no such path\");",
             f"    if (path == \"/help/{topic}\") {{\n      response.body = entity::quoted(\"see {topic} in the notes\");\n      return;\n    }}\n"
             "    fail(response, 404, \"no such path\");")])
    return Merge(f"limit-{n}", f"Set the default limit of a query for {topic}", [
        (H, "const std::size_t limit = number(query_value(request.query, \"limit\"), kDefaultLimit);",
         f"const std::size_t usual = query_value(request.query, \"view\") == \"{topic}\" ? {n} : kDefaultLimit;\n"
         "    const std::size_t limit = number(query_value(request.query, \"limit\"), usual);")
        if n == 2 else
        (H, " : kDefaultLimit;", f" : query_value(request.query, \"view\") == \"{topic}\" ? {n} : kDefaultLimit;")])


def plan(count, at_culprit=None, at_second=None, at_broken=None):
    """The merges 1..count in order; the positions are 1-based or None."""
    special = {}
    for position, make in ((at_culprit, culprit), (at_second, second), (at_broken, broken)):
        if position is not None:
            if position in special:
                raise ValueError(f"merge {position} cannot be two things at once")
            special[position] = make()
    if at_broken is not None and at_broken < count and at_broken + 1 not in special:
        special[at_broken + 1] = repaired()
    elif at_broken is not None and at_broken < count:
        special[at_broken + 1].edits = repaired().edits + special[at_broken + 1].edits
    ordinary = iter(ORDINARY)
    merges, extra = [], 0
    for position in range(1, count + 1):
        merge = special.get(position) or next(ordinary, None)
        if merge is None:
            extra += 1
            merge = further(extra)
        merges.append(merge)
    return merges


def apply(files, edits):
    """The changed files (name -> text) after the edits."""
    changed = {}
    for name, old, new in edits:
        text = changed.get(name, files[name])
        if old and text.count(old) != 1:
            raise ValueError(f"{name}: {text.count(old)} places instead of one for: {old!r}")
        changed[name] = text.replace(old, new) if old else text + new
    return changed
