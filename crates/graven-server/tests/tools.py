"""What tools on top of Neo4j's driver see; GRAVEN_BOLT is the address of the server.

Each class is a tool and imports its packages itself, so that one tool needs no other.
"""

import asyncio
import os
import unittest
import warnings

from neo4j import GraphDatabase
from neo4j.exceptions import Neo4jError

URL = f"bolt://{os.environ['GRAVEN_BOLT']}"
LOGIN = ("any", "at all")


class Tool(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.driver = GraphDatabase.driver(URL, auth=LOGIN)
        self.addCleanup(self.driver.close)
        self.driver.execute_query("MATCH (n) DETACH DELETE n")

    def one(self, text, **params):
        [[value]] = self.driver.execute_query(text, **params).records
        return value


class Neomodel(Tool):
    def test_classes_are_stored_and_found(self):
        from neomodel import (
            ArrayProperty, DateTimeProperty, IntegerProperty, RelationshipFrom, RelationshipTo, StringProperty,
            StructuredNode, StructuredRel, UniqueIdProperty, config, db,
        )
        from neomodel.exceptions import UniqueProperty

        config.DATABASE_URL = URL.replace("//", "//any:all@")
        config.AUTO_INSTALL_LABELS = False

        class Since(StructuredRel):
            year = IntegerProperty(index=True)

        class Town(StructuredNode):
            name = StringProperty(unique_index=True, required=True)
            people = RelationshipFrom("Person", "LIVES_IN")

        class Person(StructuredNode):
            uid = UniqueIdProperty()
            name = StringProperty(unique_index=True)
            age = IntegerProperty(index=True, default=0)
            tags = ArrayProperty(StringProperty())
            made = DateTimeProperty(default_now=True)
            town = RelationshipTo(Town, "LIVES_IN", model=Since)
            friends = RelationshipTo("Person", "KNOWS")

        # Names of classes in relationships are looked up in their module.
        globals().update(Person=Person, Town=Town)
        db.install_labels(Person, quiet=True)
        db.install_labels(Town, quiet=True)
        ada = Person(name="Ada", age=36, tags=["x", "y"]).save()
        bob = Person(name="Bob", age=20).save()
        town = Town.get_or_create({"name": "Paris"})[0]
        self.assertEqual(Town.get_or_create({"name": "Paris"})[0].element_id, town.element_id)
        ada.town.connect(town, {"year": 1999})
        bob.town.connect(town, {"year": 2001})
        ada.friends.connect(bob)
        self.assertEqual(ada.town.relationship(town).year, 1999)
        self.assertEqual([p.name for p in town.people.order_by("name")], ["Ada", "Bob"])
        self.assertEqual([p.name for p in Person.nodes.filter(age__gt=30)], ["Ada"])
        self.assertEqual([p.name for p in Person.nodes.filter(name__icontains="o")], ["Bob"])
        self.assertEqual([p.name for p in Person.nodes.has(friends=True)], ["Ada"])
        self.assertEqual([t.name for t in ada.town.match(year__lt=2000)], ["Paris"])
        self.assertEqual(list(bob.town.match(year__lt=2000)), [])
        self.assertEqual(len(Person.nodes), 2)
        self.assertEqual(Person.nodes.get(name="Ada").tags, ["x", "y"])
        with self.assertRaises(UniqueProperty):
            Person(name="Ada").save()
        with self.assertRaises(ValueError), db.transaction:
            Person(name="Eve").save()
            raise ValueError
        self.assertIsNone(Person.nodes.get_or_none(name="Eve"))
        self.assertEqual(Town.create_or_update({"name": "Paris"})[0].element_id, town.element_id)
        bob.age = 21
        bob.save()
        ada.refresh()
        bob.refresh()
        self.assertEqual((ada.age, bob.age), (36, 21))
        ada.delete()
        self.assertEqual(len(Person.nodes), 1)
        db.clear_neo4j_database(clear_constraints=True, clear_indexes=True)
        db.close_connection()


class LangChain(Tool):
    def test_a_graph_is_written_described_and_asked(self):
        from langchain_core.documents import Document
        from langchain_neo4j import Neo4jGraph
        from langchain_neo4j.graphs.graph_document import GraphDocument, Node, Relationship

        graph = Neo4jGraph(url=URL, username=LOGIN[0], password=LOGIN[1])
        self.addCleanup(graph.close)
        ada, town = Node(id="Ada", type="Person", properties={"age": 36}), Node(id="Paris", type="Town")
        lives = Relationship(source=ada, target=town, type="LIVES_IN", properties={"since": 1999})
        source = Document(page_content="Ada lives in Paris", metadata={"id": "d1"})
        documents = [GraphDocument(nodes=[ada, town], relationships=[lives], source=source)]
        for base in (True, False):
            graph.add_graph_documents(documents, include_source=True, baseEntityLabel=base)
        graph.refresh_schema()
        said = graph.get_schema
        self.assertIn("(:Person)-[:LIVES_IN]->(:Town)", said)
        self.assertIn("age: INTEGER", said)
        props = graph.get_structured_schema["rel_props"]["LIVES_IN"]
        self.assertEqual(props, [{"property": "since", "type": "INTEGER"}])
        rows = graph.query("MATCH (p:Person)-[:LIVES_IN]->(t) RETURN p.id AS p, t.id AS t", {})
        self.assertIn({"p": "Ada", "t": "Paris"}, rows)
        detailed = Neo4jGraph(url=URL, username=LOGIN[0], password=LOGIN[1], enhanced_schema=True)
        self.addCleanup(detailed.close)
        self.assertIn("Min: 36", detailed.get_schema)


class LlamaIndex(Tool):
    def store(self, **options):
        from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

        store = Neo4jPropertyGraphStore(username=LOGIN[0], password=LOGIN[1], url=URL, **options)
        self.addCleanup(store.close)
        return store

    def test_the_missing_index_is_named(self):
        with self.assertRaises(Neo4jError) as failed:
            self.store()
        self.assertIn("vector", failed.exception.message.lower())
        self.assertNotIn("DatabaseError", failed.exception.code)

    def test_a_graph_is_written_and_asked_without_it(self):
        from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
        from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

        store = self.store(create_indexes=False)
        ada = EntityNode(label="PERSON", name="Ada", properties={"age": 36}, embedding=[1.0, 0.0])
        town = EntityNode(label="TOWN", name="Paris", embedding=[0.0, 1.0])
        store.upsert_nodes([ada, town, ChunkNode(text="Ada lives in Paris", properties={"page": 1})])
        store.upsert_relations([Relation(label="LIVES_IN", source_id=ada.id, target_id=town.id)])
        [found] = store.get(properties={"age": 36})
        self.assertEqual((found.name, found.properties["age"]), ("Ada", 36))
        [[one, relation, other]] = store.get_triplets(entity_names=["Ada"])
        self.assertEqual((one.name, relation.label, other.name), ("Ada", "LIVES_IN", "Paris"))
        self.assertEqual(len(store.get_rel_map([ada])), 1)
        filters = MetadataFilters(filters=[MetadataFilter(key="age", value=36)])
        asked = VectorStoreQuery(query_embedding=[1.0, 0.1], similarity_top_k=1, filters=filters)
        nodes, scores = store.vector_query(asked)
        self.assertEqual([node.name for node in nodes], ["Ada"])
        self.assertGreater(scores[0], 0.9)
        store.refresh_schema()
        self.assertIn("PERSON", store.get_schema_str())
        self.assertIn("LIVES_IN", store.get_schema_str())
        store.delete(entity_names=["Ada"])
        self.assertEqual(store.get(properties={"age": 36}), [])


class GraphRag(Tool):
    def test_a_graph_is_written_described_and_resolved(self):
        try:
            from neo4j_graphrag.components.kg_writer import Neo4jWriter
            from neo4j_graphrag.components.types import Neo4jGraph, Neo4jNode, Neo4jRelationship
        except ImportError:
            from neo4j_graphrag.experimental.components.kg_writer import Neo4jWriter
            from neo4j_graphrag.experimental.components.types import Neo4jGraph, Neo4jNode, Neo4jRelationship
        from neo4j_graphrag.schema import get_schema

        nodes = [
            Neo4jNode(id="1", label="Person", properties={"name": "Ada"}, embedding_properties={"vec": [1.0, 2.0]}),
            Neo4jNode(id="2", label="Town", properties={"name": "Paris"}),
        ]
        lives = Neo4jRelationship(start_node_id="1", end_node_id="2", type="LIVES_IN", properties={"since": 1999})
        graph = Neo4jGraph(nodes=nodes, relationships=[lives])
        written = asyncio.run(Neo4jWriter(self.driver).run(graph))
        self.assertEqual(written.status, "SUCCESS")
        self.assertEqual(self.one("MATCH (:Person {name: 'Ada'})-[r:LIVES_IN]->(:Town) RETURN r.since"), 1999)
        said = get_schema(self.driver)
        self.assertIn("(:Person)-[:LIVES_IN]->(:Town)", said)
        self.assertIn("since: INTEGER", said)

    def test_the_missing_index_is_named(self):
        from neo4j_graphrag.exceptions import Neo4jIndexError
        from neo4j_graphrag.indexes import create_fulltext_index, create_vector_index

        for kind, make in (
            ("vector", lambda: create_vector_index(
                self.driver, "v", label="A", embedding_property="e", dimensions=2, similarity_fn="cosine")),
            ("full", lambda: create_fulltext_index(self.driver, "f", label="A", node_properties=["t"])),
        ):
            with self.assertRaises(Neo4jIndexError) as failed:
                make()
            self.assertIn(kind, str(failed.exception).lower())


if __name__ == "__main__":
    unittest.main()
