//! Lists of replacement policies on the command line.

/// A list of policies, parted by commas; where a policy has several parameters, by semicolons.
/// `all` is every policy that a page cache can run.
pub(crate) fn names(text: &str) -> Vec<String> {
    if text == "all" {
        return graven_lab::live_policies();
    }
    let mut list: Vec<String> = Vec::new();
    for part in text.split(';') {
        for piece in part.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            // A piece with a value but without a name goes on with the parameters of the policy
            // before it.
            let continues = piece.contains('=') && !piece.contains(':');
            match list.last_mut() {
                Some(last) if continues => {
                    last.push(',');
                    last.push_str(piece);
                }
                _ => list.push(piece.to_owned()),
            }
        }
    }
    list
}

/// The text of a list of policies, of which there is at least one.
pub(crate) fn checked(text: &str) -> Result<String, String> {
    match names(text).is_empty() {
        true => Err("it names no policy; write one, or `all`".to_owned()),
        false => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_keep_their_parameters() {
        assert_eq!(
            names("lru, gclock:max=3,init=0,fifo"),
            ["lru", "gclock:max=3,init=0", "fifo"]
        );
        assert_eq!(names("a:x=1;b"), ["a:x=1", "b"]);
        assert!(names("all").contains(&"random".to_owned()));
        assert!(checked("").is_err() && checked(" , ").is_err());
    }
}
