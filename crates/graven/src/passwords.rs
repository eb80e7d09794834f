//! Passwords that were found right, so that the slow check is not repeated.

use blake2::Blake2bMac;
use blake2::digest::consts::U32;
use blake2::digest::{KeyInit, Mac};
use graven_exec::users::is_password;
use graven_storage::UserDescription;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Names that are remembered.
const REMEMBERED_MAX: usize = 1024;

/// The stored hash that a password was compared with, and a keyed hash of the password.
type Right = (Arc<str>, Blake2bMac<U32>);

/// Passwords that were found right, by user.
#[derive(Default)]
pub(crate) struct Known {
    key: OnceLock<[u8; 32]>,
    right: Mutex<HashMap<Arc<str>, Right>>,
}

impl Known {
    fn keyed(&self, password: &str) -> Blake2bMac<U32> {
        let key = self.key.get_or_init(secret_bytes);
        let mut hash =
            <Blake2bMac<U32> as KeyInit>::new_from_slice(key).expect("a key of 32 bytes fits");
        hash.update(password.as_bytes());
        hash
    }

    /// Whether it is the password of `user`; where there is no such user it takes as long to say
    /// no.
    pub(crate) fn is_right(&self, user: Option<&UserDescription>, password: &str) -> bool {
        /// The hash of a password that no user has.
        static UNKNOWN_USER: OnceLock<Arc<str>> = OnceLock::new();
        let Some(user) = user else {
            let made = || graven_exec::users::hash_password(&generated_password());
            let hash = UNKNOWN_USER.get_or_init(|| made().unwrap_or_else(|_| "".into()));
            let _ = is_password(hash, password);
            return false;
        };
        let keyed = self.keyed(password);
        {
            let right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((hash, known)) = right.get(&user.name)
                && *hash == user.password
                && known
                    .clone()
                    .verify(&keyed.clone().finalize().into_bytes())
                    .is_ok()
            {
                return true;
            }
        }
        let is_right = is_password(&user.password, password);
        if is_right {
            let mut right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
            if right.len() >= REMEMBERED_MAX {
                right.clear();
            }
            right.insert(Arc::clone(&user.name), (Arc::clone(&user.password), keyed));
        }
        is_right
    }
}

/// Bytes that cannot be guessed.
pub(crate) fn secret_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[done..], flags) {
            Ok(more) => done += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("the kernel gives no random numbers: {error}"),
        }
    }
    bytes
}

/// Characters of a generated password, none of which is like another.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz23456789-";

const GENERATED_CHARACTERS: usize = 26;

/// A password that cannot be guessed.
#[must_use]
pub fn generated_password() -> String {
    let bytes: [u8; GENERATED_CHARACTERS] = secret_bytes();
    let characters = bytes.iter().map(|byte| ALPHABET[usize::from(byte % 32)]);
    characters.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    //! Goal: a password that is remembered is right as long as the database keeps the same hash,
    //! and no other is.

    use super::*;
    use graven_exec::users::hash_password;
    use graven_storage::Role;
    use graven_storage::UserDescription;

    #[test]
    fn what_is_remembered_is_no_other_password() {
        let mut user = UserDescription {
            name: "ada".into(),
            role: Role::Reader,
            password: hash_password("one").expect("hashed"),
            suspended: false,
            change_required: false,
            home: None,
        };
        let known = Known::default();
        for _ in 0..2 {
            assert!(known.is_right(Some(&user), "one"));
            assert!(!known.is_right(Some(&user), "two"));
            assert!(!known.is_right(None, "one"));
        }
        user.password = hash_password("two").expect("hashed");
        assert!(!known.is_right(Some(&user), "one"));
        assert!(known.is_right(Some(&user), "two"));
        let made = generated_password();
        assert_eq!(made.len(), GENERATED_CHARACTERS);
        assert_ne!(made, generated_password());
    }
}
