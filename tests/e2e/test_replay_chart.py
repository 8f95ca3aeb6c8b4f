"""The chart of a replay: right nights marked, for nightgate and for the simple rule beside it."""
import json
import random
import sys
import unittest
import xml.etree.ElementTree as xml

from support import ROOT, Case, run


class Chart(Case):
    def test_a_regression_and_its_repair(self):
        dice = random.Random(8)
        levels = [1000] * 20 + [700] * 4 + [1000] * 3
        rows = ["time,commit,machine,metric,unit,better,value"]
        for night, level in enumerate(levels):
            value = level * (1 + dice.uniform(-0.01, 0.01))
            rows.append(f"2026-03-{night + 1:02d}T02:00:00Z,c{night},m1,db.create,1/s,higher,{value:.2f}")
        (self.dir / "history.csv").write_text("\n".join(rows) + "\n")
        replay = self.program("replay", "history.csv", "--json")
        self.assertEqual(len(replay.json()["trips"]), 1)
        (self.dir / "replay.json").write_text(json.dumps(replay.json()))
        chart = run([sys.executable, ROOT / "ci" / "report" / "replay-chart", "history.csv", "replay.json", "db.create"],
                    cwd=self.dir)
        self.assertEqual(chart.code, 0, str(chart))
        titles = [t.text for t in xml.fromstring(chart.out).iter() if t.tag.endswith("title")]
        for night, said in ((21, "suspect"), (22, "trip"), (24, "red"), (25, "recovered")):
            self.assertIn(f"2026-03-{night}T02:00:00Z: {said}", titles)
        self.assertEqual([t for t in titles if t.endswith("alarm")], [])
        self.assertIn("2026-03-21T02:00:00Z: right", titles)
        self.assertIn("warned on 3 of 27 nights, 0 falsely", chart.err)  # then the rule's own baseline is the slow level


if __name__ == "__main__":
    unittest.main()
