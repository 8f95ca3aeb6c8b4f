"""Checks the JSON schemas and what they describe: schemas.py RESULTS.

Every schema under config/schemas is a right draft-07 schema with a title, and every ready config file fits
config.schema.json."""
import json
import sys
from pathlib import Path

import jsonschema

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tally import Results  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMAS = ROOT / "config" / "schemas"


def without_comments(text):
    """JSON from JSON with // comments."""
    out, in_string, i = [], False, 0
    while i < len(text):
        if in_string and text[i] == "\\":
            out.append(text[i:i + 2])
            i += 2
            continue
        if text[i] == '"':
            in_string = not in_string
        if not in_string and text.startswith("//", i):
            i = text.find("\n", i)
            if i < 0:
                break
            continue
        out.append(text[i])
        i += 1
    return "".join(out)


def check(results, name, action):
    try:
        action()
        results.add("pass", "schemas", name)
    except jsonschema.ValidationError as error:
        results.add("fail", "schemas", name, f"{error.json_path}: {error.message[:300]}")
    except (ValueError, OSError, jsonschema.SchemaError) as error:
        results.add("fail", "schemas", name, str(error)[:300])


def check_schema(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    if schema.get("$schema") != "http://json-schema.org/draft-07/schema#":
        raise ValueError("$schema is not draft-07")
    jsonschema.Draft7Validator.check_schema(schema)


def check_config(path):
    schema = json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(json.loads(without_comments(path.read_text(encoding="utf-8"))))


def main(path):
    results = Results(path)
    for schema in sorted(SCHEMAS.glob("*.json")):
        check(results, schema.name, lambda schema=schema: check_schema(schema))
    examples = list((ROOT / "ci" / "packaging" / "examples").glob("*.json"))
    for ready in sorted([*(ROOT / "config").rglob("*.json"), *(ROOT / "config").rglob("*.jsonc"), *examples]):
        if SCHEMAS not in ready.parents:
            check(results, ready.name, lambda ready=ready: check_config(ready))


if __name__ == "__main__":
    main(*sys.argv[1:])
