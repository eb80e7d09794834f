//! Commands of the shell itself: lines that begin with a colon.

use std::time::Duration;

use clap::ValueEnum;
use graven::{Durability, Isolation};

use crate::argument::{self, Param};
use crate::format::Format;

/// What `:help` prints.
pub(crate) const HELP: &str = "\
A statement ends with a semicolon and may span lines. EXPLAIN before it shows its plan, PROFILE \
runs it
and shows rows, time and pages of every step. Control-C cancels a running statement, Tab completes
keywords, labels, types and property keys.

  :help                 this text
  :quit                 leave (also control-D)
  :begin                begin a transaction, as BEGIN; also :begin SERIALIZABLE, :begin DURABILITY \
  off
  :commit, :rollback    end it, as COMMIT; and ROLLBACK;
  :format FORM          table, csv or json
  :stats on|off         say rows, time and pages after each statement
  :param NAME VALUE     set a parameter: a Cypher literal or, failing that, a string; :param {a: \
  1} sets
                        those of a map
  :params               show the parameters
  :schema               labels, relationship types and property keys
  :isolation LEVEL      what the next transactions rule out: snapshot or serializable
  :durability LEVEL     when their commits return: full, relaxed:50ms or off
  :timeout TIME|off     end statements that run for longer, for example :timeout 5s
  :memory SIZE          change the memory budget, for example :memory 64MiB
  :policy SPEC          change the replacement policy, for example :policy lru
";

/// One of them.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Quit,
    Format(Format),
    Stats(bool),
    /// One that is also a statement.
    Statement(String),
    /// Parameters to set.
    Param(Vec<Param>),
    Params,
    Schema,
    Isolation(Isolation),
    Durability(Durability),
    Timeout(Option<Duration>),
    Memory(u64),
    Policy(String),
}

impl Command {
    /// Reads a command without its colon.
    ///
    /// # Errors
    /// What is wrong and what to write instead.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match name {
            "help" | "h" | "?" => Ok(Command::Help),
            "quit" | "q" | "exit" => Ok(Command::Quit),
            "format" | "mode" => Format::from_str(rest, true)
                .map(Command::Format)
                .map_err(|_| "write :format table, :format csv or :format json".to_owned()),
            "begin" => Ok(Command::Statement(format!("BEGIN {rest}"))),
            "commit" => Ok(Command::Statement("COMMIT".to_owned())),
            "rollback" => Ok(Command::Statement("ROLLBACK".to_owned())),
            "isolation" => argument::isolation(rest).map(Command::Isolation),
            "durability" => argument::durability(rest).map(Command::Durability),
            "stats" => match rest {
                "on" => Ok(Command::Stats(true)),
                "off" => Ok(Command::Stats(false)),
                _ => Err("write :stats on or :stats off".to_owned()),
            },
            "param" if rest.starts_with('{') => match graven::Value::parse_literal(rest) {
                Some(graven::Value::Map(entries)) => {
                    let param = |(name, value): (std::sync::Arc<str>, graven::Value)| Param {
                        name: name.to_string(),
                        value,
                    };
                    Ok(Command::Param(entries.into_iter().map(param).collect()))
                }
                _ => Err(
                    "write a map of literals, for example :param {id: 3, name: 'Ada'}".to_owned(),
                ),
            },
            "param" => {
                let (name, value) = rest
                    .split_once(|c: char| c.is_whitespace() || c == '=')
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or("write :param NAME VALUE")?;
                // `NAME VALUE`, `NAME = VALUE`, and `NAME => VALUE` as in other shells.
                let value = value.trim();
                let value = value.strip_prefix('=').unwrap_or(value);
                let value = value.strip_prefix('>').unwrap_or(value);
                let name = name.trim_end_matches(':');
                let param = argument::param(&format!("{name}={}", value.trim()))?;
                Ok(Command::Param(vec![param]))
            }
            "params" => Ok(Command::Params),
            "schema" => Ok(Command::Schema),
            "timeout" if rest == "off" => Ok(Command::Timeout(None)),
            "timeout" => argument::time(rest).map(|time| Command::Timeout(Some(time))),
            "memory" => argument::bytes(rest).map(Command::Memory),
            "policy" if !rest.is_empty() => Ok(Command::Policy(rest.to_owned())),
            "policy" => Err("write :policy NAME, for example :policy lru".to_owned()),
            other => Err(format!("there is no command :{other}; :help lists them")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(Command::read("quit"), Ok(Command::Quit));
        assert_eq!(
            Command::read("format json"),
            Ok(Command::Format(Format::Json))
        );
        assert_eq!(Command::read("memory 64MiB"), Ok(Command::Memory(64 << 20)));
        let five = Duration::from_secs(5);
        assert_eq!(
            Command::read("timeout 5s"),
            Ok(Command::Timeout(Some(five)))
        );
        assert_eq!(Command::read("timeout off"), Ok(Command::Timeout(None)));
        let param = Param {
            name: "id".into(),
            value: graven::Value::Integer(3),
        };
        for text in [
            "id 3", "id=3", "id = 3", "id => 3", "id=>3", "id: 3", "$id  3",
        ] {
            let read = Command::read(&format!("param {text}"));
            assert_eq!(read, Ok(Command::Param(vec![param.clone()])), "{text}");
        }
        let other = Param {
            name: "name".into(),
            value: graven::Value::from("Ada"),
        };
        assert_eq!(
            Command::read("param {id: 3, name: 'Ada'}"),
            Ok(Command::Param(vec![param, other]))
        );
        for wrong in [
            "param {id: x}",
            "",
            "formt",
            "format xml",
            "stats",
            "param",
            "memory lots",
            "timeout 5",
            "isolation",
            "durability sometimes",
            "policy",
        ] {
            assert!(Command::read(wrong).is_err(), "{wrong}");
        }
    }
}
