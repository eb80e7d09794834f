MATCH (p:Person {id: $id}) RETURN p.birthday
