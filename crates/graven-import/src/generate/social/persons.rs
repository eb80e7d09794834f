//! The persons: place, studies, interest, name and dates.
//!
//! Names, places and topics are our own short lists; what matters for the graph is only that
//! persons of one city, university or interest are found together.

use crate::value::temporal::days_from_civil;
use graven_pagecache::huge_pages;
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

/// One person, in few bytes: there may be millions.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) id: u64,
    pub(super) created: i64,
    pub(super) address: u32,
    pub(super) city: u16,
    /// Days after the first of January 1980.
    born: u16,
    /// 0: did not study.
    university: u16,
    topic: u16,
    country: u8,
    class_year: u8,
    is_male: bool,
    /// Numbers in the lists of names.
    first_name: u8,
    last_name: u8,
    browser: u8,
}

impl Person {
    /// First name, last name and gender.
    pub(super) fn names(&self) -> [&'static str; 3] {
        let (names, gender) = match self.is_male {
            false => (&FEMALE, "female"),
            true => (&MALE, "male"),
        };
        let last = FAMILY[usize::from(self.last_name)];
        [names[usize::from(self.first_name)], last, gender]
    }

    /// Milliseconds since 1970.
    pub(super) fn birthday(&self) -> i64 {
        (days_from_civil(1980, 1, 1) + i64::from(self.born)) * DAY_MILLIS
    }

    pub(super) fn browser(&self) -> &'static str {
        BROWSERS[usize::from(self.browser)]
    }
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
    let mut people = huge_pages::with_capacity(targets.len());
    let made = targets.iter().zip(serials).map(|(target, serial)| {
        let late = span / 10;
        let since_start = match target {
            0 => span - late + random.below(late),
            _ => random.below(span - late),
        };
        person(serial, start, since_start as i64, random)
    });
    people.extend(made);
    people
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
    let born = random.below(3_653);
    // A few topics are common to all countries; half of the choices are coloured by the country.
    let common = random
        .below(TOPICS)
        .min(random.below(TOPICS))
        .min(random.below(TOPICS));
    let topic = match random.below(2) {
        0 => common,
        _ => (common + country * 37) % TOPICS,
    };
    let is_male = random.below(2) != 0;
    let pick = |names: usize, random: &mut SplitMix64| {
        ((country * 3 + random.below(8)) % names as u64) as u8
    };
    let part = (since_start / DAY_MILLIS / DAYS_PER_PART) as u64;
    // FEMALE and MALE are equally long. The order of the draws is part of GE-1.
    let first_name = pick(FEMALE.len(), random);
    let last_name = pick(FAMILY.len(), random);
    let address = (random.bits() >> 32) as u32;
    let browser = random.below(5).min(random.below(5)) as u8;
    Person {
        id: part << 40 | serial,
        created: start + since_start,
        address,
        city: city as u16,
        born: born as u16,
        university: university as u16,
        topic: topic as u16,
        country: country as u8,
        class_year: random.below(12) as u8,
        is_male,
        first_name,
        last_name,
        browser,
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
