//! Goal: every policy of the registry, under every alias and choice of parameter, keeps the
//! contract.

use graven_policy::conformance::run;
use graven_policy::registry::{self, aliases, list};

/// Every name, and every value of every parameter that is a choice.
fn specs() -> Vec<String> {
    let mut specs: Vec<String> = aliases()
        .iter()
        .map(|alias| alias.name.to_string())
        .collect();
    for entry in list().iter().filter(|entry| entry.live) {
        specs.push(entry.name.to_string());
        for p in entry.parameters.iter().filter(|p| p.accepts.contains('|')) {
            let others = p.accepts.split('|').filter(|choice| *choice != p.default);
            specs.extend(others.map(|choice| format!("{}:{}={choice}", entry.name, p.name)));
        }
    }
    specs.extend(
        [
            "lru:batch=4",
            "slru:batch=64",
            "gclock:scan=0",
            "gclock:scan=100",
            "clock:scan=1",
        ]
        .map(str::to_owned),
    );
    specs.extend(["history:size=1", "history:size=1000,ghost=cleaned"].map(str::to_owned));
    specs.extend(["thesis-clockpro:hot=plus,cap=100", "thesis-clockpro:cap=1"].map(str::to_owned));
    specs.retain(|spec| registry::is_live(spec));
    specs
}

#[test]
fn every_policy_conforms() {
    for spec in specs() {
        eprintln!("{spec}");
        run(&|capacity, seed| registry::parse(&spec, capacity, seed).unwrap());
    }
}
