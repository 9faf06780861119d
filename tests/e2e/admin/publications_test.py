"""Publications over HTTP: server-sent events."""

import base64

from admin.api import Api
from admin.events_test import EventsCase


class PublicationsTest(EventsCase):

    def test_publications_are_events(self):
        self.start()
        api = Api(self.port, self.client)
        events = self.open(api, "?pattern=room/7&pattern=price/*&pattern=true",
                           path="/v1/publications")
        self.assertEqual(events.answer.status, 200)
        self.assertEqual(events.answer.headers["Content-Type"],
                         "text/event-stream")
        # It is open.
        self.assertEqual(events.next(), ("publications", None, {}))
        herald = self.actor.submit("probe.herald")
        for topic in ("room/7", "room/8", "price/oil", "true"):
            self.actor.send(herald, topic, topic.encode())
        got = []
        while len(got) < 3:
            name, _, data = events.next()
            self.assertEqual(name, "publications")
            got += [(one["topic"], base64.b64decode(one["payload"]["data"]),
                     one["publisherPid"], one["sequence"])
                    for one in data["publications"]]
        self.assertEqual(got, [
            (topic, topic.encode(), herald, str(number)) for number, topic in
            enumerate(("room/7", "price/oil", "true"), 1)])

    def test_refusals(self):
        viewer = self.start()
        api = Api(self.port, self.client)
        for query, status, why in (
                ("", 400, "there are 0 patterns"),
                ("?pattern=a*b", 400, "neither a topic nor a prefix"),
                ("?patterns=a", 400, "use pattern, once for each value"),
                ("?topic=a", 400, "topic")):
            refused = self.open(api, query, path="/v1/publications")
            self.assertEqual(refused.answer.status, status)
            self.assertIn(why, refused.answer.read().decode())
        refused = self.open(viewer, "?pattern=a", path="/v1/publications")
        self.assertEqual(refused.answer.status, 403)
        self.assertEqual(api.raw("/v1/publications").status, 405)
