SELECT count(*) FROM country JOIN city ON city.country = country.id JOIN person ON person.city = city.id
JOIN member ON member.person = person.id JOIN forum ON forum.id = member.forum JOIN post ON post.forum = forum.id
JOIN comment ON comment.replyOfPost = post.id JOIN message_tag t ON t.message = comment.id AND NOT t.of_post
JOIN tag ON tag.id = t.tag JOIN tagclass ON tagclass.id = tag.class
