//! Limit, holders, reclaimers and brief reservations.

use super::*;

/// Goal: the limit holds, errors name the holders, dropping returns everything.
#[test]
fn the_limit_holds_and_holders_are_named() {
    let budget = Budget::new(1000);
    let mut sort = budget.reserve("sort", 600).unwrap();
    let _pages = budget.reserve("frames", 300).unwrap();
    let error = sort.grow(200).unwrap_err();
    assert_eq!(
        error.holders[0],
        Holder {
            tag: "sort",
            bytes: 600
        }
    );
    assert!(
        error.to_string().contains("sort 600, frames 300"),
        "{error}"
    );
    sort.shrink(500);
    sort.grow(200).unwrap();
    assert_eq!(budget.used(), 600);
    drop(sort);
    assert_eq!(budget.used(), 300);
    assert_eq!(budget.peak(), 900);
}

/// Goal: nothing is refused because of a brief reservation, which is refused itself; what asks to
/// waits for its end, and not for what stays.
#[test]
fn a_brief_reservation_is_in_no_way() {
    let budget = Budget::new(1000);
    let kept = budget.reserve("sort", 300).unwrap();
    let brief = budget.reserve_briefly("long values", 600).unwrap();
    assert!(budget.reserve_briefly("long values", 600).is_none());
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        drop(brief);
    });
    assert!(budget.wait_for_brief(500));
    ends.join().unwrap();
    let waited = budget.reserve("sort", 500).unwrap();
    assert_eq!(budget.used(), 800);
    drop((kept, waited));
    let _brief = budget.reserve_briefly("long values", 600).unwrap();
    assert!(!budget.wait_for_brief(400), "it fits");
    assert!(!budget.wait_for_brief(1100), "it never does");
    let beside = budget.reserve("sort", 1000).unwrap();
    assert_eq!(budget.used(), 1600);
    assert!(budget.reserve("sort", 1).is_err(), "it would not fit alone");
    drop(beside);
}

/// Goal: the budget asks reclaimers for memory before it refuses a reservation.
#[test]
fn reclaimers_are_asked_first() {
    struct Cache(Mutex<Reservation>);
    impl Reclaim for Cache {
        fn reclaim(&self, bytes: u64) -> u64 {
            let mut held = self.0.lock();
            let given = bytes.min(held.bytes());
            held.shrink(given);
            given
        }
    }
    let budget = Budget::new(1000);
    let cache = Arc::new(Cache(Mutex::new(budget.reserve("frames", 1000).unwrap())));
    let weak: Weak<Cache> = Arc::downgrade(&cache);
    budget.add_reclaimer(weak);
    let sort = budget.reserve("sort", 400).unwrap();
    assert_eq!(cache.0.lock().bytes(), 600);
    drop(sort);
    assert!(budget.reserve("sort", 1001).is_err());
}

/// Goal: many threads growing and shrinking leave the sum at zero and never above the limit.
#[test]
fn concurrent_reservations_add_up() {
    let budget = Budget::new(10_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..2_000_u64 {
                    if let Ok(held) = budget.reserve("sort", round % 4_000) {
                        assert!(held.bytes() <= budget.limit());
                    }
                }
            });
        }
    });
    assert_eq!(budget.used(), 0);
    assert!(budget.peak() <= 10_000);
}

/// Goal: handles share limit, sum and tags.
#[test]
fn handles_are_one_budget() {
    let budget = Budget::new(100);
    let other = budget.handle();
    let mut own = budget.reserve("a", 40).unwrap();
    let theirs = other.reserve("a", 50).unwrap();
    assert!(!own.try_grow(20));
    let held = [Holder {
        tag: "a",
        bytes: 90,
    }];
    assert_eq!((budget.used(), budget.holders()), (90, held.to_vec()));
    other.set_limit(120);
    assert!(own.try_grow(20));
    drop((own, theirs));
    assert_eq!((other.used(), other.peak()), (0, 110));
}
