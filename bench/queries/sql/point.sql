SELECT birthday FROM person WHERE id = $id
