//! The persons: place, studies, interest, name and dates.
//!
//! Names, places and topics are our own short lists; what matters for the graph is only that
//! persons of one city, university or interest are found together.

use crate::value::temporal::days_from_civil;
use graven_types::rng::SplitMix64;

const COUNTRIES: u64 = 110;
const UNIVERSITIES_PER_CITY: u64 = 5;
const TOPICS: u64 = 2_000;
const DAY_MILLIS: i64 = 86_400_000;
/// Simulated days up to the cut-off.
const DAYS: i64 = 986;
/// Days of one part of the id.
const DAYS_PER_PART: i64 = 28;

const FEMALE: [&str; 24] = [
    "Ada", "Amina", "Ana", "Bela", "Carmen", "Chen", "Dilek", "Elena", "Fatima", "Grace", "Hana",
    "Ingrid", "Jun", "Kavya", "Lena", "Maria", "Mei", "Nadia", "Olga", "Priya", "Rosa", "Sofia",
    "Wanjiru", "Yuki",
];
const MALE: [&str; 24] = [
    "Ali", "Antonio", "Bao", "Carlos", "David", "Emeka", "Felix", "Giorgos", "Hans", "Ivan", "Jan",
    "Jose", "Kenji", "Lars", "Luca", "Mahinda", "Omar", "Pedro", "Rahul", "Samuel", "Tomasz",
    "Viktor", "Wei", "Yusuf",
];
const FAMILY: [&str; 40] = [
    "Adeyemi", "Ahmed", "Andersen", "Bauer", "Brown", "Costa", "Das", "Diaz", "Dubois", "Evans",
    "Fischer", "Garcia", "Gupta", "Haddad", "Hansen", "Ito", "Ivanov", "Jansen", "Kaya", "Khan",
    "Kim", "Kumar", "Lee", "Li", "Lopez", "Meyer", "Mwangi", "Nguyen", "Novak", "Okafor", "Perera",
    "Popov", "Rossi", "Sato", "Silva", "Singh", "Smith", "Tan", "Wang", "Yilmaz",
];
const BROWSERS: [&str; 5] = ["Firefox", "Chrome", "Internet Explorer", "Safari", "Opera"];

/// One person.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) id: u64,
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
    pub(super) gender: &'static str,
    pub(super) birthday: i64,
    pub(super) created: i64,
    pub(super) address: u32,
    pub(super) browser: &'static str,
    pub(super) city: u64,
    country: u64,
    /// 0: did not study.
    university: u64,
    class_year: u64,
    topic: u64,
}

/// The last millisecond of the simulated time.
pub(super) fn end_of_time() -> i64 {
    (days_from_civil(2010, 1, 1) + DAYS) * DAY_MILLIS - 1
}

/// Makes one person per target; those meant to have no friend join in the last tenth of the time.
pub(super) fn persons(targets: &[u32], random: &mut SplitMix64) -> Vec<Person> {
    let mut serials: Vec<u64> = (0..targets.len() as u64).collect();
    random.shuffle(&mut serials);
    let start = days_from_civil(2010, 1, 1) * DAY_MILLIS;
    let span = (DAYS * DAY_MILLIS) as u64;
    let people = targets.iter().zip(serials);
    people
        .map(|(target, serial)| {
            let late = span / 10;
            let since_start = match target {
                0 => span - late + random.below(late),
                _ => random.below(span - late),
            };
            person(serial, start, since_start as i64, random)
        })
        .collect()
}

fn person(serial: u64, start: i64, since_start: i64, random: &mut SplitMix64) -> Person {
    // Large countries are more likely: of two draws the smaller number counts.
    let country = random.below(COUNTRIES).min(random.below(COUNTRIES));
    let cities = 4 + (country * 7) % 16;
    let city = 100 + country * 20 + random.below(cities);
    let university = match random.below(5) {
        0 => 0,
        _ => 1 + city * UNIVERSITIES_PER_CITY + random.below(UNIVERSITIES_PER_CITY),
    };
    let born = days_from_civil(1980, 1, 1) + random.below(3_653) as i64;
    // A few topics are common to all countries; half of the choices are coloured by the country.
    let common = random
        .below(TOPICS)
        .min(random.below(TOPICS))
        .min(random.below(TOPICS));
    let topic = match random.below(2) {
        0 => common,
        _ => (common + country * 37) % TOPICS,
    };
    let (gender, names) = match random.below(2) {
        0 => ("female", &FEMALE),
        _ => ("male", &MALE),
    };
    let pick = |list: &[&'static str], random: &mut SplitMix64| {
        list[((country * 3 + random.below(8)) % list.len() as u64) as usize]
    };
    let part = (since_start / DAY_MILLIS / DAYS_PER_PART) as u64;
    Person {
        id: part << 40 | serial,
        first_name: pick(names, random),
        last_name: pick(&FAMILY, random),
        gender,
        birthday: born * DAY_MILLIS,
        created: start + since_start,
        address: (random.bits() >> 32) as u32,
        browser: BROWSERS[random.below(5).min(random.below(5)) as usize],
        city,
        country,
        university,
        class_year: random.below(12),
        topic,
    }
}

/// The persons' numbers sorted by place and studies, by interest, and at random.
pub(super) fn orders(persons: &[Person], random: &mut SplitMix64) -> [Vec<u32>; 3] {
    let mut shuffled: Vec<u32> = (0..persons.len() as u32).collect();
    random.shuffle(&mut shuffled);
    // A stable sort of a shuffled list: equal ones stand in random order.
    let mut by_place = shuffled.clone();
    by_place.sort_by_key(|p| {
        let p = &persons[*p as usize];
        (p.country, p.city, p.university, p.class_year)
    });
    random.shuffle(&mut shuffled);
    let mut by_interest = shuffled.clone();
    by_interest.sort_by_key(|p| persons[*p as usize].topic);
    random.shuffle(&mut shuffled);
    [by_place, by_interest, shuffled]
}
