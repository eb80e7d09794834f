#!/usr/bin/env python3
"""Answers of BI1-BI20 computed from the tables of `ldbc-snb-sf0.003-bi` by plain loops, without any database.

    python3 queries/bi/reference.py ../shared/data/ldbc-snb-sf0.003-bi/initial_snapshot > queries/bi/expected.jsonl

One JSON object a line: query, params, columns, rows. `cargo xtask answers` compares Graven's answers with them.
Needs the program `zstd`.
"""
import heapq
import json
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path

DAY = 86_400_000


def table(root, name):
    text = subprocess.run(["zstd", "-dc", str(root / f"{name}.csv.zst")], check=True, capture_output=True).stdout.decode()
    lines = text.splitlines()
    head = lines[0].split("|")
    return [dict(zip(head, line.split("|"))) for line in lines[1:]]


def millis(text):
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


def when(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc)


class Graph:
    def __init__(self, root):
        static, dynamic = root / "static", root / "dynamic"
        place = {int(r["id"]): r for r in table(static, "Place")}
        self.city_name = {i: r["name"] for i, r in place.items() if r["type"] == "City"}
        country = {i: r["name"] for i, r in place.items() if r["type"] == "Country"}
        self.tag = {int(r["id"]): r["name"] for r in table(static, "Tag")}
        tag_class = {int(r["id"]): r["name"] for r in table(static, "TagClass")}
        self.class_of = {int(r["id"]): tag_class[int(r["TypeTagClassId"])] for r in table(static, "Tag")}
        self.company = {int(r["id"]): r["name"] for r in table(static, "Organisation") if r["type"] == "Company"}
        self.person = {}
        for r in table(dynamic, "Person"):
            city = int(r["LocationCityId"])
            self.person[int(r["id"])] = {
                "first": r["firstName"], "last": r["lastName"], "created": millis(r["creationDate"]),
                "city": city, "country": country[int(place[city]["PartOfPlaceId"])],
            }
        self.knows = defaultdict(dict)
        for r in table(dynamic, "Person_knows_Person"):
            a, b, at = int(r["Person1Id"]), int(r["Person2Id"]), millis(r["creationDate"])
            self.knows[a][b] = self.knows[b][a] = at
        self.forum = {int(r["id"]): {"title": r["title"], "created": millis(r["creationDate"]),
                                     "moderator": int(r["ModeratorPersonId"]), "members": set()}
                      for r in table(dynamic, "Forum")}
        for r in table(dynamic, "Forum_hasMember_Person"):
            self.forum[int(r["ForumId"])]["members"].add(int(r["PersonId"]))
        self.message = {}
        for r in table(dynamic, "Post"):
            self.message[int(r["id"])] = self.read(r, None) | {"forum": int(r["ContainerForumId"]), "language": r["language"]}
        for r in table(dynamic, "Comment"):
            parent = int(r["ParentPostId"] or r["ParentCommentId"])
            self.message[int(r["id"])] = self.read(r, parent)
        for kind in ("Post", "Comment"):
            for r in table(dynamic, f"{kind}_hasTag_Tag"):
                self.message[int(r[f"{kind}Id"])]["tags"].add(int(r["TagId"]))
            for r in table(dynamic, f"Person_likes_{kind}"):
                self.message[int(r[f"{kind}Id"])]["likers"].append(int(r["PersonId"]))
        for i, m in self.message.items():
            root_of = m
            while root_of["parent"] is not None:
                root_of = self.message[root_of["parent"]]
            m["root"] = root_of
            if m["parent"] is not None:
                self.message[m["parent"]]["replies"].append(m)
        self.by = defaultdict(list)
        for m in self.message.values():
            self.by[m["creator"]].append(m)
        self.interest = defaultdict(set)
        for r in table(dynamic, "Person_hasInterest_Tag"):
            self.interest[int(r["PersonId"])].add(int(r["TagId"]))
        self.study = defaultdict(list)
        for r in table(dynamic, "Person_studyAt_University"):
            self.study[int(r["PersonId"])].append((int(r["UniversityId"]), int(r["classYear"])))
        self.work = defaultdict(set)
        for r in table(dynamic, "Person_workAt_Company"):
            self.work[self.company[int(r["CompanyId"])]].add(int(r["PersonId"]))

    @staticmethod
    def read(r, parent):
        return {"id": int(r["id"]), "created": millis(r["creationDate"]), "creator": int(r["CreatorPersonId"]),
                "content": r["content"], "length": int(r["length"]), "parent": parent,
                "tags": set(), "likers": [], "replies": []}

    def tagged(self, name):
        (tag,) = [i for i, n in self.tag.items() if n == name]
        return tag, [m for m in self.message.values() if tag in m["tags"]]

    def of_class(self, m, name):
        return any(self.class_of[t] == name for t in m["tags"])

    def at_home(self, name):
        return [p for p, v in self.person.items() if v["country"] == name]


def bi1(g, datetime):
    before = [m for m in g.message.values() if m["created"] < datetime]
    groups = defaultdict(list)
    for m in before:
        if m["content"]:
            n = m["length"]
            category = 0 if n < 40 else 1 if n < 80 else 2 if n < 160 else 3
            groups[-when(m["created"]).year, m["parent"] is not None, category].append(n)
    return [[-y, c, k, len(v), sum(v) / len(v), sum(v), len(v) / len(before)] for (y, c, k), v in sorted(groups.items())]


def bi2(g, date, tagClass):
    rows = []
    for tag, name in g.tag.items():
        if g.class_of[tag] == tagClass:
            at = [(m["created"] - date) // (100 * DAY) for m in g.message.values() if tag in m["tags"]]
            rows.append([name, at.count(0), at.count(1), abs(at.count(0) - at.count(1))])
    return sorted(rows, key=lambda r: (-r[3], r[0]))[:100]


def bi3(g, tagClass, country):
    home = set(g.at_home(country))
    count = Counter(m["root"]["forum"] for m in g.message.values() if g.of_class(m, tagClass))
    rows = [[f, g.forum[f]["title"], g.forum[f]["created"], g.forum[f]["moderator"], n]
            for f, n in count.items() if g.forum[f]["moderator"] in home]
    return sorted(rows, key=lambda r: (-r[4], r[0]))[:20]


def bi4(g, date):
    size = {}
    for f, v in g.forum.items():
        if v["created"] > date and v["members"]:
            size[f] = max(Counter(g.person[p]["country"] for p in v["members"]).values())
    top = set(sorted(size, key=lambda f: (-size[f], f))[:100])
    rows = []
    for p in {p for f in top for p in g.forum[f]["members"]}:
        v = g.person[p]
        rows.append([p, v["first"], v["last"], v["created"], sum(m["root"]["forum"] in top for m in g.by[p])])
    return sorted(rows, key=lambda r: (-r[4], r[0]))[:100]


def bi5(g, tag):
    rows = defaultdict(lambda: [0, 0, 0])
    for m in g.tagged(tag)[1]:
        row = rows[m["creator"]]
        row[0] += len(m["replies"])
        row[1] += len(m["likers"])
        row[2] += 1
    rows = [[p, r, l, n, n + 2 * r + 10 * l] for p, (r, l, n) in rows.items()]
    return sorted(rows, key=lambda r: (-r[4], r[0]))[:100]


def bi6(g, tag):
    likers = defaultdict(set)
    for m in g.tagged(tag)[1]:
        likers[m["creator"]].update(m["likers"])
    popularity = {p: sum(len(m["likers"]) for m in g.by[p]) for p in g.person}
    rows = [[p, sum(popularity[l] for l in who)] for p, who in likers.items()]
    return sorted(rows, key=lambda r: (-r[1], r[0]))[:100]


def bi7(g, tag):
    wanted, messages = g.tagged(tag)
    seen = defaultdict(set)
    for m in messages:
        for c in m["replies"]:
            if wanted not in c["tags"]:
                for t in c["tags"]:
                    seen[g.tag[t]].add(c["id"])
    return [[n, len(s)] for n, s in sorted(seen.items(), key=lambda e: (-len(e[1]), e[0]))][:100]


def bi8(g, tag, startDate, endDate):
    wanted, messages = g.tagged(tag)
    score = Counter({p: 100 for p in g.person if wanted in g.interest[p]})
    for m in messages:
        if startDate < m["created"] < endDate:
            score[m["creator"]] += 1
    rows = [[p, s, sum(score[f] for f in g.knows[p])] for p, s in list(score.items())]
    return sorted(rows, key=lambda r: (-(r[1] + r[2]), r[0]))[:100]


def bi9(g, startDate, endDate):
    threads, count = defaultdict(set), Counter()
    for m in g.message.values():
        post = m["root"]
        if startDate <= post["created"] <= endDate and startDate <= m["created"] <= endDate:
            threads[post["creator"]].add(post["id"])
            count[post["creator"]] += 1
    rows = [[p, g.person[p]["first"], g.person[p]["last"], len(threads[p]), n] for p, n in count.items()]
    return sorted(rows, key=lambda r: (-r[4], r[0]))[:100]


def distances(start, edges):
    best, queue = {start: 0}, [(0, start)]
    while queue:
        d, p = heapq.heappop(queue)
        if d > best[p]:
            continue
        for q, w in edges(p):
            if d + w < best.get(q, float("inf")):
                best[q] = d + w
                heapq.heappush(queue, (d + w, q))
    return best


def bi10(g, personId, country, tagClass, minPathDistance, maxPathDistance):
    steps = distances(personId, lambda p: [(q, 1) for q in g.knows[p]])
    rows = Counter()
    for p in g.at_home(country):
        if p != personId and minPathDistance <= steps.get(p, -1) <= maxPathDistance:
            for m in g.by[p]:
                if g.of_class(m, tagClass):
                    rows.update((p, g.tag[t]) for t in m["tags"])
    return [[p, t, n] for (p, t), n in sorted(rows.items(), key=lambda e: (-e[1], e[0][1], e[0][0]))][:100]


def bi11(g, country, startDate, endDate):
    home = sorted(g.at_home(country))
    edge = lambda a, b: startDate <= g.knows[a].get(b, -1) <= endDate
    return [[sum(edge(a, b) and edge(b, c) and edge(a, c)
                 for i, a in enumerate(home) for j, b in enumerate(home[i + 1:], i + 1) for c in home[j + 1:])]]


def bi12(g, startDate, lengthThreshold, languages):
    fits = lambda m: (m["content"] and m["length"] < lengthThreshold and m["created"] > startDate
                      and m["root"]["language"] in languages)
    histogram = Counter(sum(bool(fits(m)) for m in g.by[p]) for p in g.person)
    return [list(e) for e in sorted(histogram.items(), key=lambda e: (-e[1], -e[0]))]


def bi13(g, country, endDate):
    end = when(endDate)
    zombies = set()
    for p in g.at_home(country):
        if g.person[p]["created"] < endDate:
            born = when(g.person[p]["created"])
            months = 12 * (end.year - born.year) + end.month - born.month + 1
            if sum(m["created"] < endDate for m in g.by[p]) < months:
                zombies.add(p)
    rows = []
    for z in zombies:
        likes = [l for m in g.by[z] for l in m["likers"] if g.person[l]["created"] < endDate]
        own = sum(l in zombies for l in likes)
        rows.append([z, own, len(likes), own / len(likes) if likes else 0.0])
    return sorted(rows, key=lambda r: (-r[3], r[0]))[:100]


def bi14(g, country1, country2):
    def replied(a, b):
        return any(m["parent"] is not None and g.message[m["parent"]]["creator"] == b for m in g.by[a])

    def liked(a, b):
        return any(a in m["likers"] for m in g.by[b])

    best = {}
    for a in g.at_home(country1):
        for b in g.knows[a]:
            if g.person[b]["country"] == country2:
                score = 4 * replied(a, b) + replied(b, a) + 10 * liked(a, b) + liked(b, a)
                city = g.person[a]["city"]
                best[city] = min(best.get(city, (1, 0, 0)), (-score, a, b))
    rows = [[a, b, g.city_name[city], -s] for city, (s, a, b) in best.items()]
    return sorted(rows, key=lambda r: (-r[3], r[0], r[1]))[:100]


def answers(g, accepted):
    """For each ordered pair the comments of the one on messages of the other that `accepted` takes, by its weight."""
    sums = Counter()
    for m in g.message.values():
        if m["parent"] is not None:
            parent = g.message[m["parent"]]
            weight = accepted(parent)
            sums[m["creator"], parent["creator"]] += weight
            if m["creator"] != parent["creator"]:
                sums[parent["creator"], m["creator"]] += weight
    return sums


def bi15(g, person1Id, person2Id, startDate, endDate):
    def accepted(parent):
        inside = startDate <= g.forum[parent["root"]["forum"]]["created"] <= endDate
        return inside * (1.0 if parent["parent"] is None else 0.5)

    talk = answers(g, accepted)
    best = distances(person1Id, lambda p: [(q, 1.0 / (1.0 + talk[p, q])) for q in g.knows[p]])
    return [[float(best.get(person2Id, -1.0))]]


def bi16(g, tagA, dateA, tagB, dateB, maxKnowsLimit):
    counts = []
    for tag, date in ((tagA, dateA), (tagB, dateB)):
        writers = Counter(m["creator"] for m in g.tagged(tag)[1] if date <= m["created"] < date + DAY)
        counts.append({p: n for p, n in writers.items() if sum(f in writers for f in g.knows[p]) <= maxKnowsLimit})
    a, b = counts
    rows = [[p, a[p], b[p]] for p in a if p in b]
    return sorted(rows, key=lambda r: (-(r[1] + r[2]), r[0]))[:20]


def bi17(g, tag, delta):
    wanted, messages = g.tagged(tag)
    found = defaultdict(set)
    for m1 in messages:
        forum1, person1 = m1["root"]["forum"], m1["creator"]
        members = g.forum[forum1]["members"]
        for m2 in messages:
            forum2 = m2["root"]["forum"]
            if forum1 == forum2 or m2["created"] <= m1["created"] + delta * 3_600_000:
                continue
            if person1 in g.forum[forum2]["members"] or m2["creator"] not in members:
                continue
            if any(wanted in c["tags"] and c["creator"] != m2["creator"] and c["creator"] in members for c in m2["replies"]):
                found[person1].add(m2["id"])
    return [[p, len(s)] for p, s in sorted(found.items(), key=lambda e: (-len(e[1]), e[0]))][:10]


def bi18(g, tag):
    (wanted,) = [i for i, n in g.tag.items() if n == tag]
    fans = [p for p in g.person if wanted in g.interest[p]]
    rows = [[a, b, len(g.knows[a].keys() & g.knows[b].keys())]
            for a in fans for b in fans if a != b and b not in g.knows[a]]
    return sorted((r for r in rows if r[2]), key=lambda r: (-r[2], r[0], r[1]))[:20]


def bi19(g, city1Id, city2Id):
    talk = answers(g, lambda parent: 1)
    edges = lambda p: [(q, 1.0 / talk[p, q]) for q in g.knows[p] if talk[p, q]]
    found = []
    for a, v in g.person.items():
        if v["city"] == city1Id:
            best = distances(a, edges)
            found += [[a, b, best[b]] for b, w in g.person.items() if w["city"] == city2Id and b != a and b in best]
    least = min((r[2] for r in found), default=None)
    return sorted(r for r in found if r[2] == least)[:20]


def bi20(g, company, person2Id):
    def edges(p):
        for q in g.knows[p]:
            years = [abs(x - y) for u, x in g.study[p] for v, y in g.study[q] if u == v]
            if years:
                yield q, min(years) + 1

    best = distances(person2Id, edges)
    found = [[p, best[p]] for p in g.work[company] if p != person2Id and p in best]
    least = min((r[1] for r in found), default=None)
    return sorted(r for r in found if r[1] == least)[:20]


def ms(*date):
    return int(datetime(*date, tzinfo=timezone.utc).timestamp()) * 1000


CASES = [
    (bi1, "year isComment lengthCategory messageCount averageMessageLength sumMessageLength percentageOfMessages",
     [{"datetime": ms(2012, 6, 1)}, {"datetime": ms(2020, 1, 1)}]),
    (bi2, "tagName countWindow1 countWindow2 diff",
     [{"date": ms(2012, 1, 1), "tagClass": "Person"}, {"date": ms(2011, 6, 1), "tagClass": "MusicalArtist"}]),
    (bi3, "forumId forumTitle forumCreationDate personId messageCount",
     [{"tagClass": "OfficeHolder", "country": "China"}, {"tagClass": "Writer", "country": "India"}]),
    (bi4, "personId personFirstName personLastName personCreationDate messageCount",
     [{"date": ms(2010, 2, 1)}, {"date": ms(2012, 1, 1)}]),
    (bi5, "personId replyCount likeCount messageCount score", [{"tag": "Hannibal"}, {"tag": "Fidel_Castro"}]),
    (bi6, "personId authorityScore", [{"tag": "Hannibal"}, {"tag": "Augustine_of_Hippo"}]),
    (bi7, "relatedTagName count", [{"tag": "Sanath_Jayasuriya"}, {"tag": "Hannibal"}]),
    (bi8, "personId score friendsScore",
     [{"tag": "Augustine_of_Hippo", "startDate": ms(2010, 1, 1), "endDate": ms(2013, 1, 1)},
      {"tag": "Muammar_Gaddafi", "startDate": ms(2011, 6, 1), "endDate": ms(2012, 6, 1)}]),
    (bi9, "personId personFirstName personLastName threadCount messageCount",
     [{"startDate": ms(2011, 1, 1), "endDate": ms(2012, 1, 1)}]),
    (bi10, "personId tagName messageCount",
     [{"personId": 2199023255594, "country": "China", "tagClass": "Person", "minPathDistance": 1, "maxPathDistance": 3},
      {"personId": 14, "country": "India", "tagClass": "OfficeHolder", "minPathDistance": 2, "maxPathDistance": 4}]),
    (bi11, "count", [{"country": "China", "startDate": ms(2010, 1, 1), "endDate": ms(2013, 1, 1)},
                     {"country": "India", "startDate": ms(2010, 1, 1), "endDate": ms(2013, 1, 1)}]),
    (bi12, "messageCount personCount",
     [{"startDate": ms(2010, 6, 1), "lengthThreshold": 120, "languages": ["zh", "pt", "es", "fa"]}]),
    (bi13, "zombieId zombieLikeCount totalLikeCount zombieScore",
     [{"country": "China", "endDate": ms(2013, 1, 1)}, {"country": "India", "endDate": ms(2012, 6, 15)}]),
    (bi14, "person1Id person2Id city1Name score",
     [{"country1": "China", "country2": "Azerbaijan"}, {"country1": "Russia", "country2": "Wales"}]),
    (bi15, "weight",
     [{"person1Id": 14, "person2Id": 2199023255594, "startDate": ms(2010, 1, 1), "endDate": ms(2013, 1, 1)},
      {"person1Id": 16, "person2Id": 24189255811081, "startDate": ms(2011, 1, 1), "endDate": ms(2012, 1, 1)}]),
    (bi16, "personId messageCountA messageCountB",
     [{"tagA": "Forever,_Michael", "dateA": ms(2012, 11, 15), "tagB": "Walt_Disney", "dateB": ms(2012, 11, 15),
       "maxKnowsLimit": 4}]),
    (bi17, "person1Id messageCount", [{"tag": "Hannibal", "delta": 1}, {"tag": "Fidel_Castro", "delta": -10_000}]),
    (bi18, "person1Id person2Id mutualFriendCount", [{"tag": "Elizabeth_II"}, {"tag": "Franz_Kafka"}]),
    (bi19, "person1Id person2Id totalWeight", [{"city1Id": 1166, "city2Id": 1284}, {"city1Id": 1410, "city2Id": 388}]),
    (bi20, "person1Id totalWeight", [{"company": "Okay_Airways", "person2Id": 28587302322191}]),
]


def main():
    graph = Graph(Path(sys.argv[1]))
    for query, columns, params in CASES:
        for one in params:
            rows = query(graph, **one)
            case = {"query": query.__name__.upper(), "params": one, "columns": columns.split(), "rows": rows}
            print(json.dumps(case, ensure_ascii=False))


if __name__ == "__main__":
    main()
