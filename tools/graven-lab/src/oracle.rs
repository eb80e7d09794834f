//! Answers of the three-hop question by a plain search over the text tables, without the database.
//!
//! # How it works
//! A path may not use a friendship twice but may come back to its start. Within three steps that
//! happens exactly on a triangle, so the answer is the number of persons at distance 1 to 3, plus
//! one if two friends of the start are friends. Lists are sorted, both directions stored.

use std::collections::HashMap;
use std::path::Path;

use crate::error::LabError;
use crate::table::read_integers;

/// Friendships in memory.
pub(crate) struct Friends {
    places: HashMap<i64, u32>,
    lists: Vec<Vec<u32>>,
}

impl Friends {
    /// Reads `knows.csv`.
    pub(crate) fn read(knows: &Path) -> Result<Self, LabError> {
        let mut friends = Friends {
            places: HashMap::new(),
            lists: Vec::new(),
        };
        read_integers(knows, ["person1Id", "person2Id"], |[a, b]| {
            let (a, b) = (friends.place(a), friends.place(b));
            friends.lists[a as usize].push(b);
            friends.lists[b as usize].push(a);
        })?;
        friends
            .lists
            .iter_mut()
            .for_each(|list| list.sort_unstable());
        Ok(friends)
    }

    fn place(&mut self, id: i64) -> u32 {
        let next = self.lists.len() as u32;
        let place = *self.places.entry(id).or_insert(next);
        if place == next {
            self.lists.push(Vec::new());
        }
        place
    }

    /// The answer for one start.
    pub(crate) fn within_three(&self, start: i64) -> i64 {
        let Some(&start) = self.places.get(&start) else {
            return 0;
        };
        let mut seen = vec![false; self.lists.len()];
        seen[start as usize] = true;
        let mut frontier = vec![start];
        let mut reached = 0;
        for _ in 0..3 {
            let mut next = Vec::new();
            for node in frontier {
                for &friend in &self.lists[node as usize] {
                    if !std::mem::replace(&mut seen[friend as usize], true) {
                        next.push(friend);
                    }
                }
            }
            reached += next.len() as i64;
            frontier = next;
        }
        reached + i64::from(self.on_a_triangle(start))
    }

    fn on_a_triangle(&self, start: u32) -> bool {
        let friends = &self.lists[start as usize];
        friends.iter().any(|friend| {
            let theirs = &self.lists[*friend as usize];
            theirs
                .iter()
                .any(|other| friends.binary_search(other).is_ok())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_triangles_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("knows.csv");
        // 1-2-3 is a triangle; 4, 5, 6 hang on 3 in a row.
        let table = "person1Id|person2Id|creationDate\n1|2|0\n2|3|0\n1|3|0\n3|4|0\n4|5|0\n5|6|0\n";
        std::fs::write(&path, table).expect("written");
        let friends = Friends::read(&path).expect("read");
        assert_eq!(friends.within_three(1), 5, "2, 3, 4, 5 and 1 itself");
        assert_eq!(friends.within_three(6), 3, "5, 4, 3; no triangle at 6");
        assert_eq!(friends.within_three(99), 0);
    }
}
