CREATE (:Person {id: $id, firstName: 'w', lastName: 'x', birthday: 0})
