//! Functions of a connection: added and removed.

use super::Connection;
use crate::error::Error;
use crate::functions::Function;
use crate::instance::Backend;
use graven_exec::{UserFunction, ValueType};

impl Connection {
    /// Adds a function, which statements of this connection and of its clones may call from now on,
    /// in every expression. Its name is read in any case.
    ///
    /// # Errors
    /// `Function.Invalid` for a name that cannot be called or is the language's own, and for a type
    /// that there is not; `Function.Exists`; `Database.Attached` where another process owns the
    /// file: it runs the statements, and cannot call functions of this one.
    ///
    /// # Examples
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let mut config = graven::Config::default();
    /// # config.create = true;
    /// # let db = graven::Database::open(folder.path().join("f.graven"), config)?;
    /// use graven::{Function, Params, Value};
    ///
    /// let connection = db.connect();
    /// let initials = Function::new("initials", &["STRING"], "STRING", |args| {
    ///     let name = args[0].as_str().unwrap_or_default();
    ///     let first = name.split(' ').filter_map(|word| word.chars().next());
    ///     Ok(Value::from(first.collect::<String>()))
    /// });
    /// connection.create_function(initials)?;
    /// let row = connection.query("RETURN initials('Ada Lovelace') AS x", &Params::new())?.next_row()?;
    /// assert_eq!(row.and_then(|row| row.get_by_name("x").cloned()), Some(Value::from("AL")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_function(&self, function: Function) -> Result<(), Error> {
        let Function { name, .. } = &function;
        if let Backend::Remote(_) = self.db.backend()? {
            let what = format!(
                "another process owns the database and runs its statements: it cannot call \
                    {name}(); add the function there"
            );
            return Err(Error::new("Database.Attached", what));
        }
        if !graven_cypher::is_free_function_name(name) {
            let what = format!(
                "a function cannot be called `{name}`: the language has one of that name, or it is \
                    not a name; take another one"
            );
            return Err(Error::new("Function.Invalid", what));
        }
        let read = |text: &String| {
            ValueType::parse(text).ok_or_else(|| {
                let what = format!(
                    "{name}(): there is no type `{text}`; types are those of cast(), as INT64, \
                        STRING, DATE[] or MAP(STRING, DOUBLE), and ANY"
                );
                Error::new("Function.Invalid", what)
            })
        };
        let arguments = function.arguments.iter().map(read);
        let arguments = arguments.collect::<Result<Vec<_>, Error>>()?;
        let returns = read(&function.returns)?;
        let name = function.name.clone();
        let made = UserFunction::new(
            &name,
            arguments,
            returns,
            function.takes_nulls,
            function.body,
        );
        self.functions.change(|known| {
            known.with(made).ok_or_else(|| {
                let what = format!(
                    "Catalog exception: function {name} already exists. Remove it first, with \
                        remove_function"
                );
                Error::new("Function.Exists", what)
            })
        })
    }

    /// Removes a function that was added: statements that run go on with it, later ones do not know
    /// it.
    ///
    /// # Errors
    /// `Function.NotFound`: functions of the language cannot be removed.
    pub fn remove_function(&self, name: &str) -> Result<(), Error> {
        self.functions.change(|known| {
            known.without(name).ok_or_else(|| {
                let what = format!(
                    "Catalog exception: function {name} doesn't exist. Only what \
                        create_function has added to this connection can be removed"
                );
                Error::new("Function.NotFound", what)
            })
        })
    }
}
