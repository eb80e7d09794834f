//! Operators that read and write files.

use super::{Instantiator, slot};
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::operator::BoxedOperator;
use crate::operators::copy_to::CopyTo;
use crate::operators::load_from::{Condition, LoadFrom};
use graven_cypher::plan::Operator as P;

impl Instantiator<'_> {
    /// `LOAD FROM` above `input`.
    pub(super) fn load_from(
        &self,
        op: &P,
        input: BoxedOperator,
        layout: &mut Layout,
    ) -> Result<BoxedOperator> {
        let P::LoadFrom {
            source,
            yields,
            bounds,
            at,
            ..
        } = op
        else {
            unreachable!("called for this operator");
        };
        let conditions = bounds.iter().map(|bound| {
            Ok(Condition {
                column: bound.column.clone(),
                op: bound.op,
                value: self.compile(layout, &bound.value)?,
            })
        });
        let conditions = conditions.collect::<Result<_>>()?;
        let yields = yields.iter();
        let yields = yields.map(|(name, var)| (name.clone(), layout.slot_or_add(*var)));
        let yields = yields.collect();
        Ok(Box::new(LoadFrom::new(
            input,
            (source.clone(), *at),
            yields,
            conditions,
            self.rt,
        )))
    }

    /// `COPY (query) TO` above `input`.
    pub(super) fn copy_to(
        &self,
        op: &P,
        input: BoxedOperator,
        layout: &Layout,
    ) -> Result<BoxedOperator> {
        let P::CopyTo {
            columns,
            file,
            options,
            at,
            ..
        } = op
        else {
            unreachable!("called for this operator");
        };
        let columns = columns.iter();
        let columns = columns.map(|(name, var)| Ok((name.clone(), slot(layout, *var)?)));
        let columns = columns.collect::<Result<_>>()?;
        let options = crate::sources::options(options);
        let options = options.map_err(|error| ExecError::from(error).at(*at))?;
        Ok(Box::new(CopyTo::new(
            input,
            columns,
            (file.clone(), options, *at),
            self.rt,
        )))
    }
}
