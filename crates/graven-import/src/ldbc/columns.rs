//! What the words in LDBC's file names and headers mean: labels, types, references, kinds.

use crate::plan::ReferenceEnd;
use crate::value::Kind;

/// What a column of a node table means.
pub(super) enum Meaning {
    Id,
    SubLabel,
    List(&'static str),
    Property(String, Kind),
    Reference {
        rel_type: &'static str,
        label: &'static str,
        end: ReferenceEnd,
    },
}

const LABELS: [&str; 13] = [
    "Person",
    "Forum",
    "Post",
    "Comment",
    "TagClass",
    "Tag",
    "Place",
    "City",
    "Country",
    "Continent",
    "Organisation",
    "University",
    "Company",
];

/// The label a word of a file name or header stands for, whatever its case.
pub(super) fn label_of(word: &str) -> Option<&'static str> {
    LABELS.into_iter().find(|l| l.eq_ignore_ascii_case(word))
}

/// A label with the one that groups it.
pub(super) fn labels_with(label: &str) -> Vec<&str> {
    match label {
        "Post" | "Comment" => vec![label, "Message"],
        _ => parent_table(label).map_or(vec![label], |parent| vec![label, parent]),
    }
}

/// The table that holds nodes of `label` in layouts without a table for it.
pub(super) fn parent_table(label: &str) -> Option<&'static str> {
    match label {
        "City" | "Country" | "Continent" => Some("Place"),
        "University" | "Company" => Some("Organisation"),
        _ => None,
    }
}

/// Labels a type column may add to nodes of a table.
pub(super) fn sub_labels(label: &str) -> &'static [&'static str] {
    match label {
        "Place" => &["City", "Country", "Continent"],
        "Organisation" => &["University", "Company"],
        _ => &[],
    }
}

/// The relationship type of the middle word of a file name.
pub(super) fn type_of(verb: &str) -> &'static str {
    match verb {
        "knows" => "KNOWS",
        "hascreator" => "HAS_CREATOR",
        "replyof" => "REPLY_OF",
        "containerof" => "CONTAINER_OF",
        "hasmember" => "HAS_MEMBER",
        "hasmoderator" => "HAS_MODERATOR",
        "hastag" => "HAS_TAG",
        "hasinterest" => "HAS_INTEREST",
        "hastype" => "HAS_TYPE",
        "islocatedin" => "IS_LOCATED_IN",
        "ispartof" => "IS_PART_OF",
        "issubclassof" => "IS_SUBCLASS_OF",
        "likes" => "LIKES",
        "studyat" => "STUDY_AT",
        "workat" => "WORK_AT",
        _ => "",
    }
}

/// The column's name without a type (`creationDate:LONG`).
fn bare(name: &str) -> &str {
    name.split_once(':').map_or(name, |(bare, _)| bare)
}

/// Whether a relationship column holds the id of an end.
pub(super) fn is_end(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains(":start_id") || lower.contains(":end_id") || lower.ends_with("id")
}

/// The meaning of a column in the node table of `label`.
pub(super) fn node_column(label: &str, name: &str) -> Meaning {
    let bare = bare(name);
    let refers = |rel_type, label| Meaning::Reference {
        rel_type,
        label,
        end: ReferenceEnd::End,
    };
    match (label, bare) {
        (_, "id") => Meaning::Id,
        ("Place" | "Organisation", "type" | "") => Meaning::SubLabel,
        (_, "") if name.eq_ignore_ascii_case(":label") => Meaning::SubLabel,
        ("Person", "email" | "emails") => Meaning::List("email"),
        ("Person", "language" | "speaks") => Meaning::List("speaks"),
        ("Person", "place" | "LocationCityId") => refers("IS_LOCATED_IN", "City"),
        ("Post" | "Comment", "place" | "LocationCountryId") => refers("IS_LOCATED_IN", "Country"),
        ("Organisation", "place" | "LocationPlaceId") => refers("IS_LOCATED_IN", "Place"),
        ("Post" | "Comment", "creator" | "CreatorPersonId") => refers("HAS_CREATOR", "Person"),
        ("Comment", "replyOfPost" | "ParentPostId") => refers("REPLY_OF", "Post"),
        ("Comment", "replyOfComment" | "ParentCommentId") => refers("REPLY_OF", "Comment"),
        ("Post", "Forum.id" | "ContainerForumId") => Meaning::Reference {
            rel_type: "CONTAINER_OF",
            label: "Forum",
            end: ReferenceEnd::Start,
        },
        ("Forum", "moderator" | "ModeratorPersonId") => refers("HAS_MODERATOR", "Person"),
        ("Place", "isPartOf" | "PartOfPlaceId") => refers("IS_PART_OF", "Place"),
        ("Tag", "hasType" | "TypeTagClassId") => refers("HAS_TYPE", "TagClass"),
        ("TagClass", "isSubclassOf" | "SubclassOfTagClassId") => {
            refers("IS_SUBCLASS_OF", "TagClass")
        }
        _ => Meaning::Property(bare.to_owned(), kind(bare, name)),
    }
}

/// Key and kind of a property column of a relationship table.
pub(super) fn relationship_property(verb: &str, name: &str) -> (String, Kind) {
    let bare = bare(name);
    // The BI layout calls the date of every relationship creationDate.
    let key = if verb == "hasmember" && bare == "creationDate" {
        "joinDate"
    } else {
        bare
    };
    (key.to_owned(), kind(bare, name))
}

fn kind(bare: &str, name: &str) -> Kind {
    match bare {
        "creationDate" | "joinDate" | "birthday" | "deletionDate" => Kind::EpochMillis,
        "length" | "classYear" | "workFrom" => Kind::Integer(64),
        _ => match name
            .rsplit_once(':')
            .map(|(_, kind)| kind.to_ascii_lowercase())
            .as_deref()
        {
            Some("long" | "int") => Kind::Integer(64),
            Some("float" | "double") => Kind::Float,
            _ => Kind::Text,
        },
    }
}
