//! Goal: every name parses and round-trips, every mistake is named with what would be accepted.

use super::*;

#[test]
fn every_name_parses_and_round_trips() {
    let names = list()
        .iter()
        .map(|e| e.name)
        .chain(aliases().iter().map(|a| a.name));
    for name in names {
        let spec = Spec::parse(name).unwrap();
        assert_eq!(Spec::parse(&spec.to_string()).unwrap(), spec, "{name}");
    }
}

#[test]
fn every_default_is_accepted() {
    for entry in list() {
        for p in entry.parameters {
            assert!(accepts(p.accepts, p.default), "{}:{}", entry.name, p.name);
        }
    }
}

#[test]
fn names_are_distinct() {
    let mut names: Vec<_> = list().iter().map(|e| e.name).collect();
    names.extend(aliases().iter().map(|a| a.name));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn parameters_and_protocol_are_read() {
    let spec = Spec::parse("gclock:max=3, arm=thread,protocol=atomic").unwrap();
    assert_eq!(
        spec.to_string(),
        "gclock:max=3,init=1,threshold=1,arm=thread,scan=6,protocol=atomic"
    );
    assert_eq!(spec.protocol, Some(Protocol::Atomic));
    let over_alias = Spec::parse("neo4j-rand:count=7").unwrap();
    assert_eq!(over_alias, Spec::parse("neo4j-7-rand").unwrap());
}

#[test]
fn mistakes_are_named() {
    let message = |text: &str| Spec::parse(text).unwrap_err().to_string();
    assert_eq!(
        message("clok"),
        "unknown policy \"clok\"; did you mean \"clock\"?"
    );
    assert_eq!(
        message("lur"),
        "unknown policy \"lur\"; did you mean \"lru\"?"
    );
    let unlike = message("belladonna");
    assert!(
        unlike.starts_with("unknown policy \"belladonna\"; known are min, random, fifo, lru, ")
            && list().iter().all(|entry| unlike.contains(entry.name)),
        "{unlike}"
    );
    assert_eq!(Spec::parse("2q"), Spec::parse("twoq"));
    assert_eq!(
        message("gclock:size=3"),
        "policy gclock has no parameter \"size\"; it has max, init, threshold, arm, scan, \
            protocol, batch, running"
    );
    assert_eq!(
        message("gclock:max=9"),
        "policy gclock: max=9 is not accepted; expected 0..=7"
    );
    assert_eq!(
        message("clock:arm=left"),
        "policy clock: arm=left is not accepted; expected global|thread"
    );
    assert_eq!(
        message("clock:arm"),
        "cannot read \"arm\" in policy \"clock:arm\"; expected name or name:key=value,key=value"
    );
    assert!(message("fifo:protocol=quick").contains("atomic|locked|sharded"));
}

/// Goal: a batch goes with protocols that hand hits over in batches, and round-trips.
#[test]
fn a_batch_belongs_to_a_protocol_of_batches() {
    let spec = Spec::parse("lru:batch=16").unwrap();
    assert_eq!(
        (spec.batch, spec.to_string()),
        (Some(16), "lru:batch=16".to_owned())
    );
    let combining = Spec::parse("lru:protocol=combining,batch=64").unwrap();
    assert_eq!(Spec::parse(&combining.to_string()), Ok(combining));
    for refused in ["lru:batch=0", "lru:batch=65", "lru:batch=4,protocol=locked"] {
        let message = Spec::parse(refused).unwrap_err().to_string();
        assert!(message.starts_with("policy lru: batch="), "{message}");
    }
}

/// Goal: every policy takes `running`, which round-trips, and of which 0 is none.
#[test]
fn every_policy_may_score_running_transactions() {
    for entry in list() {
        let spec = Spec::parse(&format!("{}:running=16", entry.name)).unwrap();
        assert_eq!(spec.running, Some(16));
        assert_eq!(Spec::parse(&spec.to_string()), Ok(spec));
    }
    assert_eq!(Spec::parse("lru:running=0"), Spec::parse("lru"));
    let message = Spec::parse("lru:running=many").unwrap_err().to_string();
    assert_eq!(
        message,
        "policy lru: running=many is not accepted; expected 0..=65535"
    );
}

/// Goal: a policy of another program is parsed with its parameters, built, simulated, and listed;
/// names are not taken twice.
#[test]
fn a_registered_policy_is_taken_by_name() {
    use crate::simulator::{ArrayFrames, replay};
    const ENTRY: Entry = Entry {
        name: "own-fifo",
        leaves: "the page that came first",
        parameters: &[Parameter {
            name: "depth",
            default: "1",
            accepts: "1..=9",
            help: "nothing",
        }],
        live: true,
        hit: "nothing",
        state: "24 bytes",
        paper: "this test",
    };
    register(ENTRY, |spec, _, _| {
        assert_eq!(spec.value("depth"), "4");
        Box::new(crate::fifo::Fifo::new())
    })
    .unwrap();
    let own = parse::<ArrayFrames>("own-fifo:depth=4", 3, 1).unwrap();
    let pages: Vec<u32> = (0..500).map(|at| at * at % 11).collect();
    let outcome = replay(own, &pages, 11, 3);
    assert_eq!(outcome, replay(crate::fifo::Fifo::new(), &pages, 11, 3));
    assert!(is_live("own-fifo") && entries().len() > list().len());
    let again = register(ENTRY, |_, _, _| Box::new(crate::fifo::Fifo::new())).unwrap_err();
    assert_eq!(
        again.to_string(),
        "policy \"own-fifo\" cannot be registered: another policy has this name"
    );
}
