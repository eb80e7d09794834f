INSERT INTO person (id, firstName, lastName, birthday) VALUES ($id, 'w', 'x', 0)
