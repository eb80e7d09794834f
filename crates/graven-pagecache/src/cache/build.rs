//! Building the policy of a cache from its specification.

use crate::cache::frames::SlotFrames;
use crate::cache::hits::HitMode;
use crate::error::{Error, Result};
use graven_policy::Policy;
use graven_policy::registry::{self, Boxing, Spec};

/// Builds a policy for `capacity` (bytes, or frames in the synchronous mode) and says what its hits
/// must do.
pub(crate) fn build_policy(
    spec: &str,
    capacity: u64,
    seed: u64,
    is_synchronous: bool,
) -> Result<(Box<dyn Policy<SlotFrames>>, HitMode)> {
    let parsed = Spec::parse(spec).map_err(|e| refused(spec, &e))?;
    // The synchronous mode has the policy itself keep a batch, as the simulator does; else threads
    // keep theirs.
    let built = Spec {
        batch: parsed.batch.filter(|_| is_synchronous),
        ..parsed.clone()
    };
    let policy = registry::visit(&built, capacity, seed, Boxing).map_err(|e| refused(spec, &e))?;
    let mode = HitMode::new(policy.hit_kind(), &parsed, is_synchronous);
    Ok((policy, mode))
}

/// The policy that `spec` names, over frames of any kind.
pub(crate) fn build_spec<F: graven_policy::Frames + 'static>(
    spec: &str,
    capacity: u64,
    seed: u64,
) -> Result<Box<dyn Policy<F>>> {
    graven_policy::parse::<F>(spec, capacity, seed).map_err(|e| refused(spec, &e))
}

fn refused(spec: &str, error: &graven_policy::PolicyError) -> Error {
    Error::Policy {
        spec: spec.to_owned(),
        reason: error.to_string(),
    }
}
