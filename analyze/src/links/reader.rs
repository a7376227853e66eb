//! Reader of `links.parquet`, batch by batch as the messages are read, so that only links of
//! messages in memory are in memory.

use message_trace::table::columns::BatchColumns;
use message_trace::table::{self, TableBatches};
use message_trace::{DataPath, MessageId, PathError};

use crate::call_evidence::CallEvidence;
use crate::links::{Links, ParentMessage};

/// Child, parent (`None`: the child is spontaneous), probability, and what decided the parent.
type LinkRow = (i64, Option<i64>, f64, Option<CallEvidence>);

/// The links of a table, child by child.
pub(crate) struct LinkReader {
    path: DataPath,
    batches: TableBatches,
    rows: std::iter::Peekable<std::vec::IntoIter<LinkRow>>,
    /// The next child.
    next: u64,
}

impl LinkReader {
    /// Opens the table at `path`.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn open(path: &DataPath) -> Result<LinkReader, PathError> {
        let batches = table::read_batches(path)?;
        Ok(LinkReader {
            path: path.to_owned(),
            batches,
            rows: Vec::new().into_iter().peekable(),
            next: 0,
        })
    }

    /// Appends the links of the next children, up to `end`, to `links`, in which message 0 has the
    /// number `first` in the whole trace. A parent before message 0 is
    /// [`ParentMessage::Elsewhere`].
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of links.
    pub(crate) fn read_until(
        &mut self,
        links: &mut Links,
        first: u64,
        end: u64,
    ) -> Result<(), PathError> {
        let mut parents: Vec<(ParentMessage, f64)> = Vec::new();
        while let Some((child, ..)) =
            self.peek_row()?.filter(|(child, ..)| u64::try_from(*child).is_ok_and(|c| c < end))
        {
            if u64::try_from(child) != Ok(self.next) {
                let why = format!("child {child} is missing or out of order");
                return Err(PathError::malformed(&self.path, why));
            }
            let (mut spontaneous, mut evidence) = (0.0, None);
            while let Some((_, parent, probability, decided)) =
                self.peek_row()?.filter(|(of, ..)| *of == child)
            {
                self.rows.next();
                evidence = decided;
                let Some(parent) = parent else {
                    spontaneous = probability;
                    continue;
                };
                let parent =
                    u64::try_from(parent).map_err(|why| PathError::malformed(&self.path, why))?;
                let here = match parent.checked_sub(first) {
                    // The writer wrote this value for a parent whose number it did not know.
                    Some(here) if here != u64::from(u32::MAX) => {
                        let row = u32::try_from(here)
                            .map_err(|why| PathError::malformed(&self.path, why))?;
                        ParentMessage::Here(MessageId::from_index(row as usize))
                    }
                    _ => ParentMessage::Elsewhere,
                };
                parents.push((here, probability));
            }
            let added = links.add_message();
            links.set_possible_parents(added, parents.drain(..), spontaneous);
            links.set_evidence(added, evidence);
            self.next += 1;
        }
        if let Some((child, ..)) = self.peek_row()?.filter(|(child, ..)| *child < 0) {
            return Err(PathError::malformed(
                &self.path,
                format!("child {child} is missing or out of order"),
            ));
        }
        Ok(())
    }

    /// Returns the next row without consuming it.
    fn peek_row(&mut self) -> Result<Option<LinkRow>, PathError> {
        while self.rows.peek().is_none() {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch?;
            let table = BatchColumns::new(&self.path, &batch);
            let (children, parents) = (table.int64_column("child")?, table.int64_column("parent")?);
            let probabilities = table.float64_column("probability")?;
            // Tables of older versions have no evidence.
            let evidence = table.texts_if_any("evidence")?;
            let rows: Result<Vec<LinkRow>, PathError> = (0..batch.num_rows())
                .map(|row| {
                    let child = table.required_value("child", children[row])?;
                    let decided = evidence.as_ref().and_then(|all| all[row]);
                    Ok((
                        child,
                        parents[row],
                        table.required_value("probability", probabilities[row])?,
                        decided.and_then(CallEvidence::from_name),
                    ))
                })
                .collect();
            self.rows = rows?.into_iter().peekable();
        }
        Ok(self.rows.peek().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_read_in_parts_equal_links_read_together() {
        let mut whole = Links::spontaneous_only(6);
        whole.set_parent_rows(2, &[(0, 0.7), (1, 0.2)], 0.1);
        whole.set_parent_rows(4, &[(3, 0.5), (1, 0.25)], 0.25);
        whole.set_parent_rows(5, &[(4, 1.0)], 0.0);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.parquet");
        whole.write(&path).unwrap();
        let mut reader = LinkReader::open(&path.into()).unwrap();
        let mut part = Links::default();
        reader.read_until(&mut part, 0, 3).unwrap();
        assert_eq!(part.message_count(), 3);
        part.remove_first(2);
        reader.read_until(&mut part, 2, 100).unwrap();
        assert_eq!(part.message_count(), 4);
        let of = |row| part.parents(MessageId::from_index(row)).collect::<Vec<_>>();
        let here = |row| ParentMessage::Here(MessageId::from_index(row));
        let elsewhere = ParentMessage::Elsewhere;
        assert_eq!(of(0), [(elsewhere, 0.7), (elsewhere, 0.2)]);
        assert_eq!(of(2), [(here(1), 0.5), (elsewhere, 0.25)]);
        assert_eq!(part.spontaneous_probability(MessageId::from_index(2)), 0.25);
        assert_eq!(of(3), [(here(2), 1.0)]);
    }
}
