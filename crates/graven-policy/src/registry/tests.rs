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
        "gclock:max=3,init=1,threshold=1,arm=thread,protocol=atomic"
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
        "policy gclock has no parameter \"size\"; it has max, init, threshold, arm, protocol"
    );
    assert_eq!(
        message("gclock:max=9"),
        "policy gclock: max=9 is not accepted; expected 1..=7"
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
