"""What a night tells outside: issue, comment, statuses and events, from the trip to the recovery; and the watch."""
import json
import os
import unittest

import jsonschema

from project import ProjectCase
from support import ROOT, http

def fits(document, name):
    schema = json.loads((ROOT / "config/schemas" / f"{name}.schema.json").read_text())
    jsonschema.validate(document, schema, jsonschema.Draft7Validator)


GOOD, SLOW = (1000, 5), (660, 5)


class Telling(ProjectCase):
    def github(self):
        fake = self.start(["/usr/bin/python3", ROOT / "tests/fakes/github.py"])
        while not fake.log.read_text().endswith("\n"):
            self.assertIsNone(fake.poll())
        self.url = fake.log.read_text().strip()
        return self.url

    def state(self):
        state = json.loads(http("GET", f"{self.url}/_/state")[2])
        self.assertEqual(state["violations"], [])
        return state

    def told(self, levels):
        """A project that tells a GitHub and a command."""
        hook = self.dir / "hook"
        hook.write_text(f"#!/bin/sh\ncat >> {self.dir}/events\n")
        hook.chmod(0o755)
        self.project(levels, machine={"wait_minutes": 10}, report={"github": {"repository": "o/r", "api": self.github(), "token_env": "GITHUB_TOKEN"},
                                     "hook": [str(hook)]})
        os.environ["GITHUB_TOKEN"] = "user"
        self.addCleanup(os.environ.pop, "GITHUB_TOKEN")

    def events(self):
        file = self.dir / "events"
        events = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        for event in events:
            fits(event, "event")
        return events

    def test_from_the_trip_to_the_recovery(self):
        self.told([GOOD] * 12 + [SLOW] * 10)
        culprit = self.made.commits[12]
        http("PUT", f"{self.url}/_/state", {"pulls": [{"number": 113, "state": "closed", "merge_commit_sha": culprit,
                                                       "head": {"sha": "abc"}}]})
        self.warm_up(7)
        self.night(19)
        self.assertEqual((self.state()["issues"], self.events()), ([], []))
        self.assertEqual({s["context"] for s in self.state()["statuses"]}, {"nightgate/fast/night"})

        # GitHub is away in the night of the trip: the verdict is as it is, and the next night delivers.
        http("POST", f"{self.url}/_/rule", {"path": "/issues", "status": 503, "times": 1000})
        self.night(20, code=1)
        self.assertEqual(self.state()["issues"], [])
        self.assertEqual([e["event"] for e in self.events()], ["trip", "culprit"])
        http("POST", f"{self.url}/_/rule", {"clear": True})
        self.night(21, code=1)
        state = self.state()
        self.assertEqual(len(state["issues"]), 1)
        issue = state["issues"][0]
        self.assertEqual(issue["state"], "open")
        self.assertIn("default.work.ops", issue["title"])
        self.assertIn("Change number 13", issue["body"])
        self.assertIn("trip-1.html", issue["body"])
        self.assertEqual([c["issue"] for c in state["comments"]], [113])
        self.assertIn("names this merge", state["comments"][0]["body"])
        named = [s for s in state["statuses"] if s["context"] == "nightgate/fast"]
        self.assertLessEqual({s["sha"] for s in named}, {culprit})

        self.night(22, code=1)
        self.assertEqual(len(self.state()["issues"]), 1)
        self.assertEqual(len(self.state()["comments"]), 1)
        self.made.merge(GOOD)  # the repair
        self.night(23, code=1)
        self.night(23)
        state = self.state()
        self.assertEqual((state["issues"][0]["state"], state["issues"][0]["state_reason"]), ("closed", "completed"))
        closing = [c["body"] for c in state["comments"] if c["issue"] == state["issues"][0]["number"]]
        self.assertEqual(len(closing), 1)
        self.assertIn("Recovered", closing[0])
        self.assertIn("| default.work.ops |", closing[0])
        self.assertEqual([e["event"] for e in self.events()], ["trip", "culprit", "recovered"])
        self.assertEqual(len({e["id"] for e in self.events()}), 3)

    def test_the_watch_alarms_once_a_night(self):
        self.told([GOOD] * 3)
        late = self.program("watch", "--json", "--by", "00:00", code=4).json()
        self.assertEqual((late["schema"], late["night"]), ("nightgate-watch/1", False))
        fits(late, "watch")
        self.program("watch", "--by", "00:00", code=4)
        self.assertEqual([e["event"] for e in self.events()], ["no_night"])
        self.assertEqual([i["state"] for i in self.state()["issues"]], ["open"])
        self.night(1)
        # Whatever the hour: a night of today counts for the hour that comes, and for the one just passed.
        self.program("watch", "--by", "00:00", code=0)
        self.assertEqual([i["state"] for i in self.state()["issues"]], ["closed"])
        self.program("watch", "--by", "25:00", code=2)

    def test_nothing_new_counts_as_a_night_and_no_verdict_does_not(self):
        self.told([GOOD] * 8 + ["#!/bin/sh\nexit 1\n"])
        self.night(9, code=3)
        self.program("watch", "--by", "00:00", code=4)
        self.assertIn("no verdict", self.events()[0]["text"])


if __name__ == "__main__":
    unittest.main()
