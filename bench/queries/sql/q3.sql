SELECT count(*) FROM country JOIN city ca ON ca.country = country.id JOIN city cb ON cb.country = country.id JOIN city cc ON cc.country = country.id
JOIN person a ON a.city = ca.id JOIN person b ON b.city = cb.id JOIN person c ON c.city = cc.id
JOIN knows k1 ON k1.p1 = a.id AND k1.p2 = b.id JOIN knows k2 ON k2.p1 = b.id AND k2.p2 = c.id JOIN knows k3 ON k3.p1 = c.id AND k3.p2 = a.id
