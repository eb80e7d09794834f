// What tools for Node on top of Neo4j's driver see; GRAVEN_BOLT is the address of the server, and the
// first argument names the tool. Packages are looked for in the current folder.

const assert = require('node:assert');
const { createRequire } = require('node:module');
const load = createRequire(`${process.cwd()}/x.js`);

const url = `bolt://${process.env.GRAVEN_BOLT}`;

const tools = {
  '@neo4j/graphql': async () => {
    const neo4j = load('neo4j-driver');
    const { Neo4jGraphQL } = load('@neo4j/graphql');
    const { graphql } = load('graphql');
    const driver = neo4j.driver(url, neo4j.auth.basic('any', 'at all'));
    const typeDefs = `
      type Person @node {
        id: ID! @id
        name: String!
        age: Int
        born: Date
        made: DateTime
        towns: [Town!]! @relationship(type: "LIVES_IN", direction: OUT, properties: "Lives")
      }
      type Town @node {
        name: String!
        place: Point
        people: [Person!]! @relationship(type: "LIVES_IN", direction: IN, properties: "Lives")
      }
      type Lives @relationshipProperties { since: Int }`;
    const own = new Neo4jGraphQL({ typeDefs, driver });
    const schema = await own.getSchema();
    await own.checkNeo4jCompat({ driver });
    await own.assertIndexesAndConstraints({ driver, options: { create: true } });
    const ask = async (source) => {
      const { data, errors } = await graphql({ schema, source, contextValue: {} });
      assert.ok(!errors, `${source}: ${errors}`);
      return JSON.parse(JSON.stringify(data));
    };
    const made = await ask(`mutation { createPeople(input: [{
      name: "Ada", age: 36, born: "1815-12-10", made: "2024-02-03T16:05:09Z",
      towns: { create: [{
        node: { name: "Paris", place: { longitude: 2.5, latitude: 48.5 } }, edge: { since: 1999 }
      }] }
    }, { name: "Robert", age: 20 }]) { people { name born made towns { name place { longitude } } } } }`);
    assert.deepStrictEqual(made.createPeople.people[0], {
      name: 'Ada',
      born: '1815-12-10',
      made: '2024-02-03T16:05:09.000Z',
      towns: [{ name: 'Paris', place: { longitude: 2.5 } }],
    });
    const found = await ask(`{ people(where: { age: { gt: 30 } }, sort: [{ name: ASC }], limit: 5) {
      name townsConnection { edges { properties { since } node { name } } } } }`);
    const edge = { properties: { since: 1999 }, node: { name: 'Paris' } };
    assert.deepStrictEqual(found.people, [{ name: 'Ada', townsConnection: { edges: [edge] } }]);
    const counted = await ask(`{ peopleConnection(first: 1) {
      totalCount pageInfo { hasNextPage }
      aggregate { count { nodes } node { age { average max } name { shortest } } } } }`);
    assert.deepStrictEqual(counted.peopleConnection, {
      totalCount: 2,
      pageInfo: { hasNextPage: true },
      aggregate: { count: { nodes: 2 }, node: { age: { average: 28, max: 36 }, name: { shortest: 'Ada' } } },
    });
    const changed = await ask(`mutation { updatePeople(where: { name: { eq: "Ada" } }, update: {
      age: { add: 1 },
      towns: [{ update: { edge: { since: { set: 2000 } }, node: { name: { set: "Lyon" } } } }]
    }) { people { age towns { name } } } }`);
    assert.deepStrictEqual(changed.updatePeople.people, [{ age: 37, towns: [{ name: 'Lyon' }] }]);
    const gone = await ask(`mutation { deletePeople(where: { name: { eq: "Ada" } }, delete: {
      towns: [{}] }) { nodesDeleted relationshipsDeleted } }`);
    assert.deepStrictEqual(gone.deletePeople, { nodesDeleted: 2, relationshipsDeleted: 1 });
    await driver.close();
  },
  neode: async () => {
    const Neode = load('neode');
    const neode = new Neode(url, 'any', 'at all');
    const friends = { type: 'relationships', target: 'Animal', relationship: 'FRIEND', direction: 'out' };
    neode.model('Animal', {
      id: { type: 'uuid', primary: true },
      name: { type: 'string', unique: true, required: true },
      age: 'int',
      friends: { ...friends, properties: { since: 'int' }, eager: true },
    });
    const cat = await neode.create('Animal', { name: 'Cat', age: 3 });
    const dog = await neode.merge('Animal', { name: 'Dog' });
    await cat.relateTo(dog, 'friends', { since: 7 });
    const all = await neode.all('Animal', {}, { name: 'ASC' });
    assert.deepStrictEqual(all.map((animal) => animal.get('name')), ['Cat', 'Dog']);
    const found = await neode.find('Animal', cat.get('id'));
    assert.strictEqual((await found.toJson()).friends[0].node.name, 'Dog');
    await cat.update({ age: 4 });
    assert.strictEqual(Number((await neode.first('Animal', { name: 'Cat' })).get('age')), 4);
    await neode.deleteAll('Animal');
    assert.strictEqual((await neode.all('Animal')).length, 0);
    neode.close();
  },
};

tools[process.argv[2]]().catch((error) => {
  console.log(error);
  process.exit(1);
});
